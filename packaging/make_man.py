"""Write the manual pages of gpualign and its commands: python packaging/make_man.py FOLDER (needs click-man)."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click_man.core import write_man_pages

from gpualign import __version__
from gpualign.cli import COMMANDS, cli

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
# click-man looks at the dictionary of commands, which a lazy group leaves empty
context = click.Context(cli)
cli.commands = {name: command for name in COMMANDS if (command := cli.get_command(context, name))}
write_man_pages("gpualign", cli, version=__version__, target_dir=str(folder))
for page in folder.glob("*.1"):  # a quote at the start of a line would be a request to troff
    page.write_text(page.read_text().replace("\n'", "\n\\&'"))
print(*sorted(path.name for path in folder.iterdir()))
