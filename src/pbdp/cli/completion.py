"""`pbdp completion bash`: the words that may follow, for a shell; made from the parser itself.

Every shell gets one table: a line for each command with its parts, options and the choices of its options.
Files are completed where nothing else is known.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from pbdp.cli.parser import Parser
from pbdp.errors import PbdpError

SHELLS = ("bash", "zsh", "fish")

EXAMPLES = """examples:
  source <(pbdp completion bash)                                    (in ~/.bashrc)
  source <(pbdp completion zsh)                                     (in ~/.zshrc, after compinit)
  pbdp completion fish > ~/.config/fish/completions/pbdp.fish
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.description = "Print a script that completes commands, options and choices in a shell."
    parser.epilog = EXAMPLES
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def run(options: argparse.Namespace) -> str:
    """The script for a shell."""
    from pbdp.cli.main import parser

    lines = list(lines_of(parser()))
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell](lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A command by its words (`ledger key`), with the words that may follow and the lines of help for them.

    `choices` are the values of options that have a few only, `takes` the options that take other values.
    """

    command: tuple[str, ...]
    parts: dict[str, str]
    options: dict[str, str]
    choices: dict[str, tuple[str, ...]]
    takes: tuple[str, ...]
    values: tuple[str, ...]


def lines_of(parser: argparse.ArgumentParser, command: tuple[str, ...] = ()) -> Iterator[Line]:
    """The table, of this command and of those below it."""
    if isinstance(parser, Parser):
        with suppress(PbdpError):  # what is not installed has no options
            parser.declared()
    below: dict[str, argparse.ArgumentParser] = {}
    parts: dict[str, str] = {}
    options: dict[str, str] = {}
    choices: dict[str, tuple[str, ...]] = {}
    takes: list[str] = []
    values: list[str] = []
    for action in parser._actions:
        words = " ".join((action.help or "").replace("%%", "%").split())
        if isinstance(action, argparse._SubParsersAction):
            below = dict(action.choices)
            parts = {entry.dest: entry.help or "" for entry in action._choices_actions}
        elif not action.option_strings:
            values += map(str, action.choices or ())
        elif action.help != argparse.SUPPRESS:
            options |= dict.fromkeys(action.option_strings, words)
            if action.choices is not None:
                choices |= dict.fromkeys(action.option_strings, tuple(map(str, action.choices)))
            elif action.nargs != 0:
                takes += action.option_strings
    yield Line(
        command=command,
        parts=parts,
        options=options,
        choices=choices,
        takes=tuple(takes),
        values=tuple(values),
    )
    for name, inner in below.items():
        yield from lines_of(inner, (*command, name))


# ------------------------------------------------------------------------------------------- the shells


def _bash(lines: list[Line]) -> str:
    return "\n".join(
        [
            "# pbdp: completion for bash",
            "_pbdp() {",
            *_walk(lines, "${COMP_WORDS[*]:1:COMP_CWORD-1}"),
            '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
            *_follow(lines),
            '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
            '  [[ ${#COMPREPLY[@]} -gt 0 || "$word" == -* ]] || COMPREPLY=($(compgen -f -- "$word"))',
            "}",
            "complete -o filenames -F _pbdp pbdp",
        ]
    )


def _zsh(lines: list[Line]) -> str:
    return "\n".join(
        [
            "#compdef pbdp",
            "_pbdp() {",
            "  setopt localoptions shwordsplit",
            *_walk(lines, "${words[2,CURRENT-1]}"),
            '  local word="${words[CURRENT]}" before="${words[CURRENT-1]}"',
            *_follow(lines, into="known"),
            "  local -a offered; offered=(${=known})",
            '  if (( ${#offered} )); then compadd -- "${offered[@]}"; fi',
            '  [[ "$word" == -* ]] || _files',
            "}",
            "(( $+functions[compdef] )) && compdef _pbdp pbdp",
        ]
    )


def _walk(lines: list[Line], typed: str) -> list[str]:
    """Shell code that finds the command among the words so far: each word that is a part leads into it."""
    cases = [
        f"        '{' '.join((*each.command, part))}') command='{' '.join((*each.command, part))}';;"
        for each in lines
        for part in each.parts
    ]
    return [
        "  local command='' typed",
        f"  for typed in {typed}; do",
        '    case "${command:+$command }$typed" in',
        *cases,
        "    esac",
        "  done",
    ]


def _follow(lines: list[Line], into: str = "words") -> list[str]:
    """Shell code that sets what may follow: the choices of the option before, else parts and options."""
    code = [f"  local {into}=''", '  case "$command" in']
    for each in lines:
        code.append(f"    '{' '.join(each.command)}')")
        code.append('      case "$before" in')
        code += [
            f"        {option}) {into}='{' '.join(values)}';;" for option, values in each.choices.items()
        ]
        if each.takes:
            code.append(f"        {'|'.join(each.takes)}) {into}='';;")
        offered = " ".join((*each.parts, *each.values, *each.options))
        code += [f"        *) {into}='{offered}';;", "      esac;;"]
    return [*code, "  esac"]


def _fish(lines: list[Line]) -> str:
    """One line for each word, offered where the command that it belongs to was typed and no part of it."""
    code = [
        "# pbdp: completion for fish",
        "function __pbdp_at",
        "    set -l at",
        "    for word in (commandline -opc)[2..]",
        '        if contains -- (string join -- " " $at $word) $__pbdp_commands',
        "            set at $at $word",
        "        end",
        "    end",
        '    test "$at" = "$argv"',
        "end",
        "set -g __pbdp_commands " + " ".join(_quoted(" ".join(each.command)) for each in lines[1:]),
    ]
    for each in lines:
        at = f"-n {_quoted(' '.join(('__pbdp_at', *each.command)))}"
        code += [
            f"complete -c pbdp {at} -f -a {part} -d {_quoted(words)}" for part, words in each.parts.items()
        ]
        code += [f"complete -c pbdp {at} -f -a {value}" for value in each.values]
        for option, words in each.options.items():
            name = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            if option in each.choices:
                name += f" -x -a {_quoted(' '.join(each.choices[option]))}"
            elif option in each.takes:
                name += " -r"
            code.append(f"complete -c pbdp {at} {name} -d {_quoted(words)}")
    return "\n".join(code)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
