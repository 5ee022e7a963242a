"""What every command says of itself: help, examples, completion."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import click
import pytest

import gpualign
from gpualign.cli import COMMANDS, cli, main
from gpualign.cli.usage import COMMON, OTHER_NAMES
from gpualign.map.params import Seeding
from gpualign.options import sections
from gpualign.search.params import SearchParams

Run = Callable[..., tuple[int, bytes, str]]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_and_explains_every_option(name: str, cli: Run) -> None:
    code, out, _ = cli(name, "--help")
    assert code == 0
    text = out.decode()
    assert "\\b" not in text
    examples = re.findall(r"^    .*gpualign .+$", text, re.MULTILINE)
    assert len(examples) >= 2
    command = _command(name)
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    assert [option.opts[0] for option in options if not option.hidden and not option.help] == []


def test_options_stand_under_headings(cli: Run) -> None:
    """Each once, how a command runs last; sort and markdup do not run on a cluster."""
    for name in COMMANDS:
        command = _command(name)
        text = cli(name, "--help-all")[1].decode()
        found = sections(command, click.Context(command))
        assert re.findall(r"^([A-Z][^:\n]*):$", text[text.index("Examples:") + 9 :], re.MULTILINE) == list(found)
        options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
        shown = [option for options in found.values() for option in options]
        assert sorted(map(id, shown[:-1])) == sorted(map(id, options))
        assert "--help" in shown[-1].opts
        assert list(found)[-1] == {"devices": "Options", "completion": "Options", "makedb": "Output"}.get(
            name, "Running"
        )
    assert "--dask" in cli("map", "--help-all")[1].decode()
    for name in ("sort", "markdup"):
        assert "--dask" not in cli(name, "--help-all")[1].decode()
        code, _, err = cli(name, "--dask", "local:1", "in.bam")
        assert (code, err) == (2, f"gpualign {name}: error: No such option '--dask'. (see gpualign {name} --help)\n")


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "devices"])
def test_a_command_without_arguments_shows_its_usage_and_one_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        main([name])
    out, err = capsys.readouterr()
    assert (ending.value.code, out) == (2, "")
    usage, example = re.findall(r"^(?:Usage:  |Example:) (.+)$", err, re.MULTILINE)
    assert usage.startswith(f"gpualign {name} [OPTIONS] ")
    assert f"gpualign {name} " in example
    assert len(err.splitlines()) <= 6
    assert err.endswith(f"gpualign {name} {'--help-all' if name in COMMON else '--help'} explains every option.\n")


@pytest.mark.parametrize("name", COMMON)
def test_the_first_help_fits_a_screen_and_names_the_second(name: str, cli: Run) -> None:
    """Of options that there are; the second has all of them."""
    code, out, _ = cli(name, "--help")
    lines, command = out.decode().splitlines(), _command(name)
    assert code == 0
    assert len(lines) <= 60
    known = {spelling for option in command.params for spelling in option.opts}
    assert set(COMMON[name].split()) <= known
    options = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    assert lines[-1] == f"gpualign {name} --help-all explains all {len(options) + 1} options."
    whole = cli(name, "--help-all")[1].decode()
    assert [option.opts for option in options if not any(f"  {spelling}" in whole for spelling in option.opts)] == []
    assert len(whole.splitlines()) > 2 * len(lines)


def test_other_commands_have_one_help(cli: Run) -> None:
    assert cli("sort", "--help")[1] == cli("sort", "--help-all")[1]
    assert b"--help-all" not in cli("sort", "--help")[1]


@pytest.mark.parametrize(
    ("words", "ours"),
    [
        (("pairwise", "--identity", "0.9", "a.fa"), "--id"),  # EMBOSS, cd-hit
        (("pairwise", "--max_target_seqs", "5", "a.fa"), "--top"),  # BLAST
        (("map", "--cpus", "4", "a.fa", "b.fq"), "--threads"),
        (("sort", "--sort-by-name", "a.bam"), "--by-name"),  # sambamba
        (("search", "--mismatches", "3", "a", "b"), "--max-errors"),
        (("map", "--sensitivty", "full", "a", "b"), "--sensitivity"),  # a misprint
    ],
)
def test_names_of_other_programs_lead_to_ours(words: tuple[str, ...], ours: str, cli: Run) -> None:
    code, _, err = cli(*words)
    assert code == 2
    assert f"No such option '{words[1]}'. Did you mean '{ours}'?" in err


def test_suggestions_are_options_of_some_command() -> None:
    known = {spelling for name in COMMANDS for option in _command(name).params for spelling in option.opts}
    assert set(OTHER_NAMES.values()) <= known
    assert [name for name in OTHER_NAMES if name != name.lower() or "-" in name or "_" in name] == []


def test_one_argument_too_few_is_an_error_of_one_line(cli: Run) -> None:
    code, _, err = cli("map", "ref.fa")
    assert (code, err) == (2, "gpualign map: error: Missing argument 'READS'. (see gpualign map --help)\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_the_words_of_the_glossary(name: str, cli: Run) -> None:
    text = " ".join(cli(name, "--help-all")[1].decode().split())
    assert re.findall(r"\b(?:behind|beside|under way|the cores|letters|places|as a whole)\b", text) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_numbers_show_the_default_of_their_field(name: str, cli: Run) -> None:
    """What is not given is None on the command line, so that a field's default holds; --help shows that."""
    for option in _command(name).params:
        if isinstance(option, click.Option) and not option.hidden and isinstance(option.default, int | float | str):
            assert option.is_flag or option.show_default
    text = " ".join(cli(name, "--help-all")[1].decode().split())
    for command, shown in {
        "map": f"Seed hits to follow per read, rarest seeds first. [default: {Seeding().max_hits}]",
        "search": f"errors by which the best pattern must beat every other one. [default: {SearchParams.margin}]",
        "cluster": "--max-memory SIZE Host memory for alignment matrices. [default: 1G]",
    }.items():
        assert name != command or shown in text


@pytest.mark.parametrize("name", COMMANDS)
def test_sizes_are_shown_as_they_are_given(name: str, cli: Run) -> None:
    text = " ".join(cli(name, "--help-all")[1].decode().split())
    assert "[default: (" not in text
    if name == "map":
        assert "[default: 1G per thread, at most a quarter" in text
        assert "[default: 4M]" in text


def test_presets_stand_where_x_says(cli: Run) -> None:
    text = " ".join(cli("map", "--help-all")[1].decode().split())
    assert "sets several options at once (see Presets)" in text
    assert text.index("Presets: sr short reads") < text.index("-x, --preset")


def test_a_letter_means_one_thing() -> None:
    """-w, -k of an index, -t and -q are the same wherever they are, but for `mem`, whose letters are bwa's."""
    names = [name for name in COMMANDS if name != "mem"]
    for letter in ("-w", "-t", "-q"):
        options = [option for name in names for option in _command(name).params if letter in option.opts]
        assert len(options) > 1
        assert len({(option.name, option.help) for option in options}) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", [["--version"], ["-V"], ["version"]])
def test_version(cli: Run, words: list[str]) -> None:
    assert cli(*words) == (0, f"gpualign {gpualign.__version__}\n".encode(), "")


def test_help_as_a_word(cli: Run) -> None:
    assert cli("help") == cli("--help")
    for name in COMMANDS:
        assert cli("help", name) == cli(name, "--help")
    code, out, error = cli("help", "nonsense")
    assert (code, out) == (2, b"")
    assert "No such command 'nonsense'" in error


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("mpa", " Did you mean 'map'?"),
        ("lcs", " Did you mean 'lcs-filter'?"),
        ("me", " Did you mean 'mem' or 'mems'?"),
        ("xyz", ""),
    ],
)
def test_a_mistyped_command(cli: Run, word: str, meant: str) -> None:
    assert cli(word) == (2, b"", f"gpualign: error: No such command '{word}'.{meant} (see gpualign --help)\n")


def test_examples_parse() -> None:
    """Every option that an example names is one of that command's."""
    for name in COMMANDS:
        command = _command(name)
        known = {word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts)}
        for line in re.findall(rf"gpualign {name} (.+)", command.help or ""):
            words = re.split(r"[|>#]", line)[0].split()
            options = {word for word in words if re.match(r"--?[A-Za-z]", word)}
            assert options <= known, (name, options - known)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell: str, cli: Run) -> None:
    code, out, _ = cli("completion", shell)
    assert code == 0
    assert b"_GPUALIGN_COMPLETE" in out


def test_bash_completes_commands_options_and_files(cli: Run, tmp_path: object) -> None:
    def words(line: str) -> list[str]:
        locus = str(len(line.split(" ")) - 1)
        variables = {"_GPUALIGN_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": locus}
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            code, out, _ = cli()
        assert code == 0
        return out.decode().split()

    assert words("gpualign ma") == ["plain,map", "plain,markdup", "plain,makedb"]
    assert "plain,--max-gaps" in words("gpualign pairwise --max-")
    assert words("gpualign map re") == ["file,re"]
    assert words("gpualign index -d x") == ["file,x"]


def test_bash_accepts_the_script(cli: Run) -> None:
    _, script, _ = cli("completion", "bash")
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_help_is_quick_and_light() -> None:
    """Neither NumPy nor the native code for --help."""
    code = (
        "import sys; from gpualign.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: assert not {'numpy', 'gpualign._native'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, stdout=subprocess.DEVNULL)


def _command(name: str) -> click.Command:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command
