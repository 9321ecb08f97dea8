"""The ``undertow`` command. Heavy imports happen inside the command that needs them."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from undertow.errors import PhysicsError, UserError

if TYPE_CHECKING:
    from undertow.run.record import Run
    from undertow.run.simulation import Simulation

app = typer.Typer(
    name="undertow",
    help="Two-way coupled simulation of fluids and solids.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Threads = Annotated[int | None, typer.Option("--threads", metavar="N", help="threads of the kernels; default all")]
Quiet = Annotated[bool, typer.Option("--quiet", help="no progress and no messages but errors")]
Json = Annotated[bool, typer.Option("--json", help="one JSON object per line on standard output")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="run folder, such as runs/boat-0001")]
Cases = Annotated[list[str] | None, typer.Argument(metavar="[CASE ...]", help="names of cases; default all")]


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose failures are one message on standard error and the exit status of the design."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except UserError as error:
            raise _fail(str(error), 2) from None
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            raise _fail(f"{place}{error.strerror or error}; choose another place or make room", 2) from None
        except PhysicsError as error:
            raise _fail(str(error), 1) from None
        except MemoryError as error:
            detail = f" ({error})" if str(error) else ""
            raise _fail(f"out of memory{detail}; lower the resolution or close other programs", 2) from None
        except KeyboardInterrupt as error:
            raise _fail(str(error) or "interrupted", getattr(error, "status", 130)) from None

    app.command()(guarded)
    return guarded


def _fail(message: str, status: int) -> typer.Exit:
    print(f"undertow: {message}", file=sys.stderr)
    return typer.Exit(status)


def _say(quiet: bool, text: str) -> None:
    """A message for people, on standard error."""
    if not quiet:
        print(text, file=sys.stderr)


def _begin(threads: int | None) -> None:
    """Check --threads and, before Numba is loaded, let it start no more than so many."""
    cores = os.cpu_count() or 1
    if threads is None:
        return
    if not 1 <= threads <= cores:
        raise UserError(f"--threads {threads}: must be between 1 and {cores}, the cores of this machine")
    if "numba" not in sys.modules:
        os.environ["NUMBA_NUM_THREADS"] = str(threads)


def _print_version(wanted: bool) -> None:
    if wanted:
        from undertow import __version__

        print(f"undertow {__version__}")
        raise typer.Exit


@app.callback()
def _undertow(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="version")] = False,
) -> None:
    """Two-way coupled simulation of fluids and solids."""


@command
def scenes(threads: Threads = None, quiet: Quiet = False) -> None:
    """List the gallery: name, what it shows, source figure, cost."""
    from undertow.scene.files import gallery_cards

    _begin(threads)
    rows: list[tuple[str, ...]] = list(gallery_cards())
    if not quiet:
        _print_table(("name", "what it shows", "source", "cost on two cores"), rows)
    else:
        print("\n".join(row[0] for row in rows))


@command
def run(
    scene: Annotated[str, typer.Argument(metavar="SCENE|FILE.toml|FILE.py", help="gallery name or scene file")],
    resolution: Annotated[int | None, typer.Option(metavar="N", help="cells along the scene's main side")] = None,
    frames: Annotated[int | None, typer.Option(metavar="N", help="number of frames after the first")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="a.b=c", help="override a value of the scene (TOML)")
    ] = None,
    coupling: Annotated[str | None, typer.Option(metavar="NAME", help="coupling method")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="run folder; must not exist")] = None,
    preview: Annotated[bool, typer.Option(help="draw preview.png, preview.mp4 and report.html at the end")] = True,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Run a scene with a progress bar; leaves a run folder with frames, ledger, picture and film."""
    from undertow.scene import find_scene

    _begin(threads)
    described = find_scene(scene, resolution, frames, coupling, assignments or ())
    if out is not None and "\0" in str(out):
        raise UserError(f"--out {str(out)!r}: holds the letter NUL, which no file name can")
    if out is not None and (out.exists() or out.is_symlink()):
        raise UserError(f"{out}: exists already and is not overwritten; choose another --out, or resume it")
    _say(quiet, f"{described.name}: {described.description}" if described.description else described.name)
    from undertow.run.compile_ahead import compiling_ahead

    with compiling_ahead(described, threads):
        from undertow.run.progress import ProgressBar
        from undertow.run.simulation import Simulation

        sim = Simulation(described, threads)
        for note in sim.notes:
            _say(quiet, f"note: {note}")
        cost = f"; as it comes with the package: {described.cost} on two cores" if described.cost else ""
        _say(quiet, f"{_describe_size(sim)}, {described.time.frames} frames{cost}")
        with ProgressBar(quiet) as bar:
            done = sim.run(out, bar, preview=False)
        _finish(done, preview, quiet)


@command
def resume(
    folder: RunPath,
    frames: Annotated[int | None, typer.Option(metavar="N", help="N frames more than the checkpoint has")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="a.b=c", help="such as time.end=8; physics stays as it is")
    ] = None,
    preview: Annotated[bool, typer.Option(help="draw preview.png, preview.mp4 and report.html at the end")] = True,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Continue a run from its newest checkpoint, bit for bit."""
    _begin(threads)
    from undertow.run.driver import resume as resume_run
    from undertow.run.progress import ProgressBar

    with ProgressBar(quiet) as bar:
        done = resume_run(folder, threads, frames, bar, assignments or ())
    _finish(done, preview, quiet)


@command
def upgrade(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="scene file")],
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Rewrite keys of a scene file that have another name now; the old file is kept beside it."""
    from undertow.scene.upgrade import upgrade as rewrite

    _begin(threads)
    changes = rewrite(file)
    for text in changes:
        _say(quiet, text)
    _say(quiet, f"{file}: {len(changes)} keys rewritten" if changes else f"{file}: is up to date")


def _describe_size(sim: Simulation) -> str:
    if sim.grid is None:
        return f"{len(sim.bodies)} bodies, {len(sim.scene.joints)} joints"
    nx, ny, nz = sim.grid.cells
    return f"{nx} x {ny} x {nz} cells of {sim.grid.dx:.4g} m"


def _finish(done: Run, preview: bool, quiet: bool) -> None:
    """Draw the picture; a run without one is still a good run."""
    if preview:
        from undertow.run.driver import leave_picture

        for text in leave_picture(done.folder):
            _say(quiet, text)
    print(done.folder)


@command
def view(
    folder: RunPath,
    port: Annotated[int, typer.Option(help="port of the page on this machine")] = 8080,
    browser: Annotated[bool, typer.Option(help="open the page in the browser")] = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Show a run as a web page; follows a run in progress."""
    _begin(threads)
    _check_run(folder)
    from undertow.output.view import view as show

    show(folder, port, open_browser=browser, say=lambda words: _say(quiet, words))


@command
def render(
    folder: RunPath,
    out: Annotated[Path | None, typer.Option(metavar="PATH", help="folder, .png or .mp4 file; default RUN")] = None,
    width: Annotated[int, typer.Option(metavar="N", help="longer side of the picture [pixels]")] = 960,
    field: Annotated[str | None, typer.Option(metavar="NAME", help="draw a slice of this field")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="half the width and at most 60 frames")] = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Draw preview.png and preview.mp4; needs no graphics driver."""
    _begin(threads)
    _check_run(folder)
    if out is not None and out.suffix not in ("", ".png", ".mp4") and not out.is_dir():
        raise UserError(f"--out {out}: pictures are .png and films .mp4; give such a name, or that of a folder")
    from undertow.output.render import render as draw

    for path in draw(folder, out, width=width, field=field, quick=quick):
        print(path)


@command
def plot(
    folder: RunPath,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="picture; default RUN/ledger.png")] = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Draw the ledger."""
    _begin(threads)
    _check_run(folder)
    from undertow.output.plot import plot as draw

    print(draw(folder, out))


@command
def fracture_pattern(
    name: Annotated[str, typer.Argument(metavar="NAME|FOLDER", help="a pattern, or a folder of closed meshes")],
    seed: Annotated[int, typer.Option(metavar="N", help="another pattern of the same kind")] = 0,
    pieces: Annotated[int, typer.Option(metavar="N", help="about how many regions")] = 24,
    dimensions: Annotated[int, typer.Option(metavar="2|3", help="of the scenes that it is for")] = 3,
    out: Annotated[Path | None, typer.Option(metavar="FILE.png", help="picture; default NAME.png")] = None,
    width: Annotated[int, typer.Option(metavar="N", help="longer side of the picture [pixels]")] = 960,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Draw a fracture pattern: radial, brick, voronoi, glass, wood, or a folder of meshes."""
    _begin(threads)
    if not 64 <= width <= 8192:
        raise UserError(f"--width {width}: must be from 64 to 8192 pixels")
    from undertow.output.patterns import draw_pattern, find_pattern

    pattern = find_pattern(name, seed, pieces, dimensions)
    size = sum(region.volume() for region in pattern.regions)
    _say(quiet, f"{pattern.name}: {len(pattern.regions)} regions, which fill {100.0 * size / pattern.volume:.6g}%")
    print(draw_pattern(pattern, out or Path(f"{Path(name).name}.png"), width))


@command
def export(
    folder: RunPath,
    to: Annotated[str, typer.Option("--to", metavar="FORMAT", help="vtk or ply")],
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="folder to write; must not exist")] = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Write the frames for another program."""
    _begin(threads)
    _check_run(folder)
    from undertow.output.export import export as write

    print(write(folder, to=to, out=out))


@command
def compare(
    scene: Annotated[str, typer.Argument(metavar="SCENE|FILE.toml|FILE.py", help="gallery name or scene file")],
    couplings: Annotated[str, typer.Option(metavar="a,b,c", help="couplings to run it under")],
    resolution: Annotated[int | None, typer.Option(metavar="N", help="cells along the scene's main side")] = None,
    frames: Annotated[int | None, typer.Option(metavar="N", help="number of frames after the first")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", metavar="a.b=c", help="override a value of the scene (TOML)")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="folder of the runs; must not exist")] = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Run a scene under several couplings; leaves one page with pictures, ledgers and timings side by side."""
    _begin(threads)
    from undertow.run import compare as comparison
    from undertow.run.progress import ProgressBar

    names = comparison.couplings_of(couplings)
    described = comparison.comparison_scenes(scene, names, resolution, frames, assignments or ())
    with ProgressBar(quiet) as bar:
        folder, runs = comparison.compare(described, out, threads, bar, functools.partial(_say, quiet))
    from undertow.output.compare import write_comparison
    from undertow.output.render import render as draw
    from undertow.output.report import write_report

    for run_folder in runs:
        draw(run_folder, quick=True)
        write_report(run_folder)
    _say(quiet, f"wrote {write_comparison(folder, runs)}")
    print(folder)


@command
def matrix(
    out: Annotated[Path, typer.Option(metavar="FILE.md", help="the page; is overwritten")] = Path("matrix.md"),
    pairs: Annotated[bool, typer.Option("--pairs", help="few cells, with every pair of levels")] = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Run every fluid with every kind of solid, coupling and change, tiny, check each, and write one page."""
    _begin(threads)
    from undertow.validation import matrix as cells

    chosen = cells.pairwise() if pairs else cells.cells()
    outcomes = []
    for number, cell in enumerate(chosen, 1):
        outcomes.append(cells.run(cell))
        if outcomes[-1].state == "fails":
            _say(quiet, f"{number} of {len(chosen)}: {cell}: {outcomes[-1].reason}")
    out.write_text(cells.report(outcomes), encoding="utf-8")
    print(out)
    if any(one.state == "fails" for one in outcomes):
        raise typer.Exit(1)


@command
def validate(
    cases: Cases = None,
    as_json: Json = False,
    full: Annotated[bool, typer.Option("--full", help="also the long ladders")] = False,
    everything: Annotated[bool, typer.Option("--all", help="all cases, results kept in runs/validation")] = False,
    resume_kept: Annotated[bool, typer.Option("--resume", help="leave out what is kept of these sources")] = False,
    listed: Annotated[bool, typer.Option("--list", help="name, what it judges, form and cost of every case")] = False,
    smoke: Annotated[bool, typer.Option("--smoke", help="two steps of every case and benchmark, not judged")] = False,
    broken: Annotated[bool, typer.Option("--broken", help="each defect of a case's broken.py must fail it")] = False,
    draw: Annotated[Path | None, typer.Option("--draw", help="new folder for pictures of the cases' curves")] = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Check the cases against their references: measured, reference, error, tolerance, pass."""
    _begin(threads)
    _check_modes({"--list": listed, "--smoke": smoke, "--broken": broken, "--all": everything})
    if everything and cases:
        raise UserError(f"validate --all: takes no names of cases ({', '.join(cases)}); leave out the one or the other")
    if draw is not None and (listed or smoke or broken):
        raise UserError("validate --draw: draws what is judged; leave out --list, --smoke and --broken")
    if listed:
        from undertow.validation.catalogue import cards

        _list_cases(list(cards()), as_json)
        return
    from undertow.run.machine import use_threads
    from undertow.validation import drawing, runner

    say = functools.partial(_say, quiet)
    use_threads(threads)
    columns = ("case", "quantity", "measured", "reference", "error", "tolerance", "passed", "seconds")
    if smoke:
        _report(_smoke(cases, say), as_json, columns)
        return
    if broken:
        from undertow.validation.broken import check, chosen

        _report(check(chosen(cases), say), as_json, columns)
        return
    names = runner.chosen("validate", cases)
    if draw is not None:
        drawing.check_folder(draw)
    results = runner.validate(names, full, say)
    if everything or resume_kept:
        measure = functools.partial(runner.validate, full=full, say=say)
        results = _keep("validate", "full" if full else "quick", names, resume_kept, measure, say)
    if draw is not None:
        results = runner.drawn(results, draw, say)
    _report(results, as_json, columns)


@command
def bench(
    cases: Cases = None,
    as_json: Json = False,
    everything: Annotated[bool, typer.Option("--all", help="all benchmarks, results kept in runs/validation")] = False,
    resume_kept: Annotated[bool, typer.Option("--resume", help="leave out what is kept of these sources")] = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Measure speed: seconds per step, throughput, iterations, memory, compile time apart."""
    _begin(threads)
    if everything and cases:
        raise UserError(f"bench --all: takes no names ({', '.join(cases)}); leave out the one or the other")
    from undertow.run.machine import use_threads
    from undertow.validation import runner

    names, say = runner.chosen("bench", cases), functools.partial(_say, quiet)
    used = use_threads(threads)
    results = runner.bench(names, used, say)
    if everything or resume_kept:
        measure = functools.partial(runner.bench, threads=used, say=say)
        results = _keep("bench", "quick", names, resume_kept, measure, say)
    columns = ("case", "quantity", "size", "threads", "seconds_per_step", "throughput", "unit", "iterations", "ratio")
    _report(results, as_json, (*columns, "bound", "passed"))


def _check_modes(modes: dict[str, bool]) -> None:
    given = [name for name, on in modes.items() if on]
    if len(given) > 1:
        raise UserError(f"validate {' '.join(given)}: each does something else; give one of them")


def _list_cases(rows: list[tuple[str, ...]], as_json: bool) -> None:
    columns = ("name", "judges", "form", "cost")
    if not as_json:
        _print_table(("name", "what it judges", "form", "cost on two cores"), rows)
        return
    for row in rows:
        print(json.dumps(dict(zip(columns, row, strict=True))))


def _smoke(cases: list[str] | None, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """Cases, then benchmarks; a name may be of either."""
    from undertow.validation import runner
    from undertow.validation.smoke import smoke

    both = {kind: runner.known(kind) for kind in ("validate", "bench")}
    for name in cases or ():
        if not any(name in known for known in both.values()):
            raise UserError(f"validate --smoke: there is neither a case nor a benchmark {name!r}; see validate --list")
    wanted = {kind: [name for name in known if not cases or name in cases] for kind, known in both.items()}
    if cases:
        for kind, names in wanted.items():
            yield from smoke(kind, names, say)
        return
    # all of them: the benchmarks on the other core
    beside = [name for name in wanted["bench"] if name not in both["validate"]]
    command = [sys.executable, "-m", "undertow", "validate", "--smoke", "--json", *beside]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        yield from smoke("validate", wanted["validate"], say)
        yield from smoke("bench", [name for name in wanted["bench"] if name not in beside], say)
        assert process.stdout is not None
        lines = [json.loads(line) for line in process.stdout]
    if [line["case"] for line in lines] != beside:
        done = f"{len(lines)} of {len(beside)}"
        raise PhysicsError(f"validate --smoke: the benchmarks ended after {done}; run them by name to see why")
    yield from lines


def _keep(
    kind: str, form: str, names: list[str], resumes: bool, measure: Callable[..., Iterator[dict[str, Any]]],
    say: Callable[[str], None],
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Results that are kept as they come; with ``resumes`` those that are kept already stand before them."""
    from undertow.validation.kept import Kept

    kept = Kept()
    beside = ("kind", "form", "date", "commit", "sources")
    done = kept.done(kind, form) if resumes else {}
    left = [name for name in names if name not in done]
    say(f"{kept.path}: {len(names) - len(left)} of {len(names)} are kept, {len(left)} are left")
    for name in names:
        yield from ({key: line[key] for key in line if key not in beside} for line in done.get(name, ()))
    yield from kept.keep(kind, form, measure(left))


def _report(results: Iterator[dict[str, Any]], as_json: bool, columns: tuple[str, ...]) -> None:
    """Lines of JSON as they come, or a table at the end; exit status 1 when anything has failed."""
    rows = []
    for result in results:
        rows.append(result)
        if as_json:
            print(json.dumps(result, allow_nan=False), flush=True)
    if not as_json:
        _print_table(columns, [tuple(_short(row.get(c)) for c in columns) for row in rows])
    failed = sum(row["passed"] is False for row in rows)
    if failed:
        raise PhysicsError(f"{failed} of {len(rows)} quantities out of tolerance")


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, float):
        return f"{value:.5g}"
    return "" if value is None else str(value)


@command
def info(threads: Threads = None, quiet: Quiet = False) -> None:
    """Versions, threads, optional extras found."""
    _begin(threads)
    from undertow.run.machine import EXTRAS, describe_machine, version_of, versions

    rows: list[tuple[str, ...]] = [(name, version or "not found") for name, version in versions().items()]
    machine = describe_machine()
    rows += [("processor", machine["processor"]), ("memory", f"{machine['memory_gb']} GB")]
    rows += [("threads", f"{threads or machine['cores']} of {machine['cores']} cores")]
    rows += [("kernel cache", os.environ.get("NUMBA_CACHE_DIR", ""))]
    for extra, packages in EXTRAS.items():
        found = [f"{p} {version_of(p)}" for p in packages if version_of(p)]
        rows.append((f"extra {extra}", ", ".join(found) or f"not installed: pip install 'undertow[{extra}]'"))
    _print_table(("what", "value"), rows)


def _check_run(folder: Path) -> None:
    from undertow.run.folder import check_run_folder
    from undertow.scene import toml

    toml.check_resolved(check_run_folder(folder) / "scene.toml")


def _print_table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    wide = None if sys.stdout.isatty() else 160
    table = Table(*columns, box=box.SIMPLE_HEAD)
    for row in rows:
        table.add_row(*map(Text, row))
    Console(width=wide).print(table)


def main() -> None:
    """Entry point of the ``undertow`` script."""
    app()


if __name__ == "__main__":
    main()
