"""``gpualign devices``."""

from __future__ import annotations

import click


@click.command("devices")
@click.option("--check", is_flag=True, help="Compile all kernels and compare each device with the CPU on a small run.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--debug", is_flag=True, help="Show a Python traceback on errors.")
def command(check: bool, as_json: bool, debug: bool) -> None:
    """Show the GPUs, the driver, PyCUDA, nvcc and the kernel cache.

    With --check every kernel is compiled (or found) and run on each device, and its results are compared with the
    CPU's; a difference or a failure ends with exit code 4.

    \b
    Examples:
      gpualign devices
      gpualign devices --check
    """
    from gpualign.cli.device_check import run_devices

    run_devices(check=check, as_json=as_json)
