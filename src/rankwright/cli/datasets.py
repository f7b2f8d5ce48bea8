"""``rankwright datasets``: public benchmarks, and how to get them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.stopping import resumable
from rankwright.cli.terminal import Json, print_table
from rankwright.progress import Bar, display

if TYPE_CHECKING:
    from rankwright.data.download import Progress

Folder = Annotated[
    str | None,
    typer.Option("--folder", help="Folder of all data sets; RANKWRIGHT_DATA sets the default."),
]
Name = Annotated[str, typer.Argument(help="Name of the data set.")]

app = typer.Typer(help="List and download public benchmarks.", add_completion=False)


@app.callback(invoke_without_command=True)
def datasets(context: typer.Context, folder: Folder = None, as_json: Json = False) -> None:
    """List public benchmarks, and which of them are here; get NAME downloads one."""
    if context.invoked_subcommand is not None:
        context.obj = folder
        return
    from rankwright.data.benchmarks import BENCHMARKS
    from rankwright.data.catalogue import data_folder

    if as_json:
        facts = [_benchmark_facts(benchmark, folder) for benchmark in BENCHMARKS]
        typer.echo(json.dumps({"folder": str(data_folder(folder)), "datasets": facts}, indent=2))
        return
    rows = [
        [
            benchmark.name,
            "yes" if benchmark.is_present(folder) else "no",
            "get" if benchmark.downloadable else "by hand",
            benchmark.contents,
        ]
        for benchmark in BENCHMARKS
    ]
    print_table(["name", "here", "how", "contents"], rows)
    typer.echo(f"\nFolder: {data_folder(folder)}", err=True)
    typer.echo("rankwright datasets show NAME tells terms, checksums and steps.", err=True)


@app.command("show")
def show(context: typer.Context, name: Name, folder: Folder = None) -> None:
    """Say what a data set is, what its terms are, and how to get it."""
    from rankwright.data.benchmarks import find_benchmark

    root = folder or context.obj
    benchmark = find_benchmark(name)
    typer.echo(benchmark.instructions(root))
    if benchmark.is_present(root):
        typer.echo(f"It is there: {benchmark.folder(root)}")


@app.command("get")
def get(
    context: typer.Context,
    name: Name,
    folder: Folder = None,
    accept_terms: Annotated[
        bool, typer.Option("--accept-terms", help="I have read the terms and accept them.")
    ] = False,
) -> None:
    """Download, check and unpack a data set; an interrupted download resumes."""
    from rankwright.data.benchmarks import find_benchmark
    from rankwright.data.download import fetch
    from rankwright.data.writing import check_writable_folder

    benchmark = find_benchmark(name)
    check_writable_folder(benchmark.folder(folder or context.obj))
    with resumable(), _download_bars() as progress:
        place = fetch(
            benchmark, folder or context.obj, accept_terms=accept_terms, progress=progress
        )
    typer.echo(f"{benchmark.title}: {place}")
    typer.echo(f"Terms: {benchmark.terms}.", err=True)


def _benchmark_facts(benchmark: Any, folder: str | None) -> dict[str, Any]:
    return {
        "name": benchmark.name,
        "title": benchmark.title,
        "contents": benchmark.contents,
        "terms": benchmark.terms,
        "page": benchmark.page,
        "downloadable": benchmark.downloadable,
        "bytes": benchmark.size,
        "present": benchmark.is_present(folder),
        "folder": str(benchmark.folder(folder)),
        "files": list(benchmark.files),
        "archives": [
            {"name": archive.name, "sha256": archive.sha256, "url": archive.url}
            for archive in benchmark.archives
        ],
    }


@contextlib.contextmanager
def _download_bars() -> Iterator[Progress]:
    """Show the progress of each file."""
    with display("bytes") as shown:
        bars: dict[str, Bar] = {}

        def show(file: str, done: int, total: int | None) -> None:
            if file not in bars:
                bars[file] = shown.bar(file)
            share = f" of {total / 1e6:.1f}" if total else ""
            bars[file].update(f"{done / 1e6:.1f}{share} MB", done=done, total=total)

        yield show
