"""Tests of results as tables, pages, CSV and JSON, including hostile names."""

import csv
import io
import json
import re
from html.parser import HTMLParser

import pytest

from game_interface.story import find_story
from orchestration.player_choice import choose_player
from session.game_configuration import GameConfiguration
from tests.fixtures.chat_server import Answer, ChatServer
from tests.fixtures.evaluations import TO_THE_ORCHARD, a_run, renamed
from tests.fixtures.own_stories import compiled, names
from zorkgpt.evals.ablations import Ablation
from zorkgpt.evals.executor import RunOutcome
from zorkgpt.evals.metrics import METRICS, Group, figures_of
from zorkgpt.evals.protocols import EvaluationProtocol
from zorkgpt.evals.report import plots, report
from zorkgpt.evals.results import Sample, as_csv, as_json_text, ms_by_part, results_of, tables

pytestmark = pytest.mark.slow

HOSTILE = "=1+1|<img src=x onerror=alert(1)>`[a](b)$x_$\"'&"
"""A file name, so it contains no slash."""


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Results of two seeds with and without memory, of a story with a hostile name."""
    root = tmp_path_factory.mktemp("evaluation")
    game = renamed(find_story("slackwater").path, root / f"{HOSTILE}.z5")
    runs = [
        a_run(root, "learning-2x25", ablation, game=game, seed=seed)
        for seed in (1, 2)
        for ablation in (Ablation.ON, Ablation.OFF)
    ]
    for run in runs:
        run.play()
    failed = a_run(root, "learning-2x25", Ablation.FROZEN, game=game)
    return results_of([*map(RunOutcome, runs), RunOutcome(failed, "a `|` <b>reason</b>")])


def remove_first_line(log):
    log.write_bytes(log.read_bytes().partition(b"\n")[2])


def remove_turn(log):
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(line for line in lines if b'"turn":3,' not in line))


def claim_missing_turns(log):
    log.write_bytes(log.read_bytes().replace(b'"turns":5', b'"turns":999999999999'))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove_first_line, "has no beginning"),
        (remove_turn, "turns are missing in the log"),
        (claim_missing_turns, "turns are missing in the log"),
    ],
)
def test_run_with_a_damaged_log_is_reported_as_failure(tmp_path, damage, message):
    runs = [a_run(tmp_path, "learning-2x5", seed=seed) for seed in (1, 2)]
    for run in runs:
        run.play()
    damage(runs[1].workdir(1) / "runs" / "1" / "episode_log.jsonl")
    results = results_of(list(map(RunOutcome, runs)))
    assert [result.run.seed for result in results.runs] == [1]
    [failed] = results.failures
    assert failed.run.seed == 2
    assert message in failed.failure
    assert failed.failure.endswith(f"To play it again, delete {runs[1].folder}.")


def test_shown_memories_of_no_turn_are_ignored(tmp_path):
    run = a_run(tmp_path, "learning-1x5")
    run.play()
    before = figures_of(run)
    with (run.workdir(1) / "runs" / "1" / "shown_memories.jsonl").open("a") as file:
        file.write('{"turn": "a"}\n')
    assert figures_of(run) == before


def test_figures_match_the_logs(tmp_path):
    commands = (*TO_THE_ORCHARD, "take pear", "take wooden clapper", "dance wildly", "dance wildly", "west")
    run = a_run(tmp_path, f"learning-2x{len(commands)}", commands=commands)
    run.play()
    first, second = figures_of(run).episodes
    assert (first.score, first.best_score, first.max_score, first.turns, first.deaths) == (2, 2, 100, 8, 0)
    assert (first.scored, first.score_turns) == ({2: 5}, {5: 2})
    assert len(first.places) == 4
    assert first.failed > 0
    assert second.repeated_failed == second.failed == first.failed
    assert (first.directory, second.directory) == tuple(
        f"runs/slack-water-{run.story.sha256[:8]}/on/seed-1/episodes/runs/{number}" for number in (1, 2)
    )
    values = {metric.name: metric.of((first, second)) for metric in METRICS}
    assert (values["area"], values["best_share"], values["last_score"]) == (0.02, 0.02, 2)
    assert values["turns_to_half"] == 5
    assert (values["calls"], values["cost"], values["tokens"]) == (None, None, None)


def test_model_usage_is_reported_by_role(tmp_path):
    with ChatServer(lambda asked: Answer("ACTION: look")) as server:
        config = GameConfiguration.load(
            arguments={"agent_model": server.model, "client_base_url": server.url}, environment={}
        )
        run = a_run(tmp_path, "learning-1x3", choice=choose_player("model", config), config=config)
        run.play()
        results = results_of([RunOutcome(run)])
    [episode] = results.runs[0].episodes
    assert episode.usage["agent"].calls == 3
    assert episode.usage["agent"].tokens > 0
    assert sum(usage.calls for usage in episode.usage.values()) == len(server.requests)
    assert json.loads((run.folder / "run.json").read_bytes())["models"]["agent"] == server.model
    assert "| on | agent | 3 |" in tables(results)
    [row] = csv.DictReader(io.StringIO(as_csv(results).decode()))
    assert (row["agent_calls"], row["tokens"]) == ("3", str(sum(usage.tokens for usage in episode.usage.values())))
    [parts] = ms_by_part(results.runs).values()
    assert parts["model, agent"] == pytest.approx(episode.usage["agent"].latency_s * 1000 / 3)
    # Only the agent's calls take time of a turn. Other roles answer in the background.
    assert [part for part in parts if part.startswith("model, ")] == ["model, agent"]
    assert "<h2>Model usage by role</h2>" in report(results, {})


def test_times_of_parts_add_up(played):
    times = ms_by_part(played.runs)
    assert times.keys() == {Ablation.ON, Ablation.OFF}
    for ablation, parts in times.items():
        runs = [result for result in played.runs if result.run.ablation is ablation]
        turns = sum(episode.turns for result in runs for episode in result.episodes)
        whole = sum(episode.seconds for result in runs for episode in result.episodes)
        assert sum(parts.values()) == pytest.approx(1000 * whole / turns, rel=0.02)
        assert parts["interpreter"] > 0


def test_number_format():
    metrics = {metric.name: metric for metric in METRICS}
    assert [metrics["tokens"].shown(value) for value in (47860.0, -1234.5, 261.74, 0.0123)] == [
        "47,860",
        "-1,234",
        "261.7",
        "0.0123",
    ]
    assert metrics["failed"].shown(-0.0004) == "0.0 %"


def test_every_metric_is_in_table_page_and_json(played):
    table, page, document = tables(played), report(played, {}), json.loads(as_json_text(played))
    [story] = played.stories
    known = [metric for metric in METRICS if metric.name in story.means[Ablation.ON]]
    assert {metric.group for metric in known} >= {Group.PLAY, Group.SHOWN, Group.COST}
    for metric in known:
        assert f"| {metric.label} |" in table
        assert f"<th>{metric.label}</th>" in page
        assert metric.name in document["stories"][0]["means"]["on"]
    for group in {metric.group for metric in known}:
        assert f"| **{group}** |" in table
        assert group.value in page


def test_runs_are_paired_by_seed(played):
    [story] = played.stories
    means = story.means
    assert means[Ablation.ON]["repeated"].count == 2
    gap = story.differences[Ablation.OFF]["repeated"]
    expected = means[Ablation.ON]["repeated"].mean - means[Ablation.OFF]["repeated"].mean
    assert gap.mean == pytest.approx(expected)
    assert gap.mean < 0 >= gap.high


def test_identical_games_count_once(tmp_path):
    runs = [
        a_run(tmp_path, "learning-1x3", ablation, commands=("north", "south", "north"), seed=seed)
        for seed in (1, 2)
        for ablation in (Ablation.ON, Ablation.OFF)
    ]
    other = a_run(tmp_path, "learning-1x3", seed=3)
    for run in (*runs, other):
        run.play()
    results = results_of(list(map(RunOutcome, (*runs, other))))
    [story] = results.stories
    assert story.samples == {Ablation.ON: Sample(3, 2), Ablation.OFF: Sample(2, 1)}
    assert story.means[Ablation.ON]["last_score"].count == 2
    assert story.differences[Ablation.OFF]["last_score"].count == 1
    assert "| different games | 2 of 3 runs | 1 of 2 runs |" in tables(results)
    assert "<td>2 of 3 runs</td><td>1 of 2 runs</td>" in report(results, {})


def test_seed_changes_the_game_of_the_rules_player(tmp_path):
    runs = [a_run(tmp_path, "learning-1x30", seed=seed) for seed in (1, 2, 3)]
    for run in runs:
        run.play()
    [story] = results_of(list(map(RunOutcome, runs))).stories
    assert story.samples == {Ablation.ON: Sample(3, 3)}


def test_several_stories_have_a_summary(tmp_path):
    run = a_run(tmp_path, "learning-2x25")
    run.play()
    other = a_run(tmp_path, "learning-2x25", game=compiled(names()[0]))
    other.play()
    results = results_of([RunOutcome(run), RunOutcome(other)])
    first, second, together = results.stories
    assert (together.title, together.sha256, together.episodes) == ("All stories", "", {})
    expected = (first.means[Ablation.ON]["failed"].mean + second.means[Ablation.ON]["failed"].mean) / 2
    assert together.means[Ablation.ON]["failed"].mean == pytest.approx(expected)
    assert "last_score" not in together.means[Ablation.ON]
    assert "## All stories" in tables(results)
    captions = [caption for caption, _ in plots(results)]
    for story in (first, second):
        assert f"{story.title}: final score by episode" in captions


def test_headline_metric_comes_first(tmp_path):
    protocol = EvaluationProtocol("a-test", "A test", 1, 5, (1,), "best")
    run = a_run(tmp_path, protocol)
    run.play()
    assert tables(results_of([RunOutcome(run)])).splitlines()[6].startswith("| highest score, share of the maximum |")


def test_table_cells_are_escaped(played):
    rows = [line for line in tables(played).splitlines() if line.startswith("|")]
    bars = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
    assert set(bars) <= {3, 4, 5, 6}
    assert re.findall(r"(?<!\\)[<`\[]", tables(played).replace("] |", "").replace(" [", " ")) == []
    assert "a \\`\\|\\` \\<b\\>reason\\</b\\>" in tables(played)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict]] = []

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_hostile_name_stays_text_in_the_report(played, tmp_path):
    pages = {item.run.workdir(1): item.run.workdir(1).with_suffix(".html") for item in played.runs}
    page = report(played, pages)
    tags = Tags()
    tags.feed(page)
    assert {tag for tag, _ in tags.found} & {"script", "b", "iframe"} == set()
    images = [attributes for tag, attributes in tags.found if tag == "img"]
    assert len(images) == 3
    assert all(item["src"].startswith("data:image/svg+xml;base64,") and "onerror" not in item for item in images)
    links = [attributes["href"] for tag, attributes in tags.found if tag == "a"]
    assert len(links) == 8
    assert all(re.fullmatch(r"runs/[a-z0-9-]+/(on|off)/seed-[12]/episodes\.html#[12]:\d+", link) for link in links)
    assert played.runs[0].run.story.sha256 in page


def test_run_without_a_page_has_no_link(played):
    tags = Tags()
    tags.feed(report(played, {}))
    assert [tag for tag, _ in tags.found if tag == "a"] == []


def test_plots_are_svg_with_captions(played):
    captions = [caption for caption, _ in plots(played)]
    assert [caption.rpartition(": ")[2] for caption in captions] == [
        "final score by episode",
        "repeated failures by episode",
        "score during the last episode",
    ]
    assert all(picture.startswith(b"<?xml") for _, picture in plots(played))


def test_csv_contains_no_formulas(played):
    rows = list(csv.DictReader(io.StringIO(as_csv(played).decode())))
    assert len(rows) == 8
    assert {row["story"] for row in rows} == {f"'{HOSTILE}"}
    assert [(row["ablation"], row["seed"], row["episode"]) for row in rows[:2]] == [("on", "1", "1"), ("on", "1", "2")]


def test_json_contains_all_runs_and_metrics(played):
    document = json.loads(as_json_text(played))
    assert [(run["ablation"], run["seed"], len(run["episodes"])) for run in document["runs"]] == [
        ("on", 1, 2),
        ("off", 1, 2),
        ("on", 2, 2),
        ("off", 2, 2),
    ]
    assert document["runs"][0]["metrics"].keys() == {metric.name for metric in METRICS}
    assert document["failures"][0]["reason"] == "a `|` <b>reason</b>"
    assert document["stories"][0]["differences"]["off"]["repeated"]["mean"] < 0
