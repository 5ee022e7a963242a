"""``gpualign devices``."""

from __future__ import annotations

import click

from gpualign.options import debug_option, headed


@click.command("devices")
@click.option(
    "--check", is_flag=True, help="Compile all kernels, run each on every GPU and compare the results with the CPU's."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@headed("Options", debug_option)
def command(check: bool, as_json: bool, debug: bool) -> None:
    """Show the GPUs, the driver, PyCUDA, nvcc and the kernel cache.

    With --check every kernel is compiled (or taken from the cache) and run on each GPU, and its results are compared
    with the CPU's. A difference or a failure ends with exit code 4.

    \b
    Examples:
      gpualign devices
      gpualign devices --check
    """
    from gpualign.cli.device_check import run_devices

    run_devices(check=check, as_json=as_json)
