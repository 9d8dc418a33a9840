"""`pbdp local questions`: several questions of one person, one of them each or all of them."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbdp.cli.files import checked_target, json_text, new_files, toml_in
from pbdp.cli.local.domains import OPTIONS, domain_of
from pbdp.cli.options import add
from pbdp.cli.parser import Parser, whole
from pbdp.errors import InputError, did_you_mean
from pbdp.local.request import GOAL, goal_of_error

if TYPE_CHECKING:
    from pbdp.local import Question
    from pbdp.local.questions import QuestionPlan

FORMAT, VERSION = "pbdp-local-questions", 1
# The file that lists the others, each of which has the name of its question.
INDEX, NAME = "questions", re.compile(r"[A-Za-z0-9_-]{1,100}")
EXAMPLE = """the file, in TOML, has a table for each question:
  [age]
  values = "10..100"
  category-size = 10
  goal = "category"

  [mood]
  values = ["bad", "so so", "good"]

with values, values-file, text, categories, category-size, scale-width, ring and goal as for `pbdp local
plan`.

  pbdp local questions survey.toml --epsilon 2 --users 20000 -o surveys
"""


def declare(parser: Parser) -> None:
    """What the command takes."""
    parser.set_defaults(doing="Planning")
    parser.description = (
        "Plan several questions that cost a person one epsilon together: one question for each person,\n"
        "drawn at random, or all questions with a part of epsilon each, whichever has the least errors."
    )
    parser.epilog = EXAMPLE
    parser.add_argument("file", metavar="FILE", help="the questions, in TOML")
    add(parser, "--epsilon", required=True, help="what all answers may cost a person together")
    parser.add_argument("--users", type=whole, required=True, metavar="N", help="people who will report")
    add(
        parser,
        "--output",
        metavar="FOLDER",
        help="write a survey for each question, named by it, and questions.json",
    )
    add(parser, "--force", help="replace files of FOLDER that exist")
    add(parser, "--json")


def run(options: argparse.Namespace) -> str:
    """Read the questions, plan both ways, write the better one, and say why."""
    from pbdp.local import plan_questions
    from pbdp.report.words.surveys import questions_words

    questions = _questions(options)
    targets = _targets(options, [question.name for question in questions])
    made = plan_questions(questions, epsilon=options.epsilon, users=options.users)
    _write(made, targets, options.force)
    if options.json:
        return json_text("local-questions", made.record())
    saved = "" if options.output is None else f"\nSaved in {options.output}\n"
    return questions_words(made) + saved


def _questions(options: argparse.Namespace) -> list[Question]:
    from pbdp.local import Question

    found = []
    for name, table in toml_in("file", options.file).items():
        if not isinstance(table, dict):
            raise InputError(f"{name} in FILE", "a table, as [age]", "something else")
        given = _given(name, table)
        settings = argparse.Namespace(**{option: given.get(option) for option in OPTIONS})
        domain = domain_of(settings)
        stated = given.get("goal")
        if stated is not None:
            stated = GOAL.check("goal", GOAL.read("goal", str(stated)))
        goal = goal_of_error(stated, domain, options.users)
        found.append(Question(name=name, domain=domain, goal=goal))
    return found


def _given(name: str, table: dict[str, Any]) -> dict[str, Any]:
    known = {*OPTIONS, "goal"}
    given = {key.replace("-", "_"): value for key, value in table.items()}
    for key in given:
        if key not in known:
            names = [each.replace("_", "-") for each in sorted(known)]
            raise InputError(f"{name} in FILE", f"made of {', '.join(names)}", key, did_you_mean(key, names))
    return given


def _targets(options: argparse.Namespace, questions: list[str]) -> list[Path]:
    """The files of the folder, checked before the work begins; none if there is no folder."""
    if options.output is None:
        return []
    for name in questions:
        if not NAME.fullmatch(name):
            rule = "of letters, digits, - and _ where a file is named by it"
            raise InputError("question", rule, repr(name), "Rename it, or leave out -o.")
    names = [f"{name}.json" for name in (INDEX, *questions)]
    if len({name.lower() for name in names}) < len(names):
        rule = f"different in more than capitals, and not {INDEX!r}"
        raise InputError("questions", rule, "names of one file", "Rename one of them.")
    folder = Path(options.output)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError("--output", "a folder that can be made", folder, f"{error.strerror}.") from None
    return [checked_target(str(folder / name), options.force) for name in names]


def _write(made: QuestionPlan, targets: list[Path], force: bool) -> None:
    """All files, or none."""
    from pbdp.local.configuration import configuration

    if not targets:
        return
    surveys = [configuration(each.plan.mechanism) for each in made.asked]
    listed = [
        {"name": each.question.name, "file": target.name, "survey": survey["fingerprint"]}
        for each, target, survey in zip(made.asked, targets[1:], surveys, strict=True)
    ]
    index = {"format": FORMAT, "version": VERSION, "way": made.way, "questions": listed}
    with new_files(targets, force) as files:
        for file, record in zip(files, (index, *surveys), strict=True):
            file.write((json.dumps(record, indent=1) + "\n").encode())
