"""Entries of the catalogue.

Checksums are those that loaders in public use insist on: scikit-learn's (RCV1), TensorFlow's
(MovieLens), pytorchltr's (MSLR-WEB, Istella). Where none is known, none is given.
"""

from __future__ import annotations

from rankwright.data.catalogue import Archive, Benchmark
from rankwright.suggestions import meant

_MICROSOFT = "Microsoft Research licence: research only, no redistribution"
_ISTELLA = "Istella LETOR licence: research only, no redistribution"
_GROUPLENS = "GroupLens: research, cite the paper; no redistribution, no commercial use"
_RCV1 = "free for research, cite Lewis, Yang, Rose & Li (2004); the texts themselves are not in it"
_YAHOO = "Yahoo Webscope agreement: academic research only, no redistribution"

_LETOR_PAGE = (
    "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval"
)
_FIGSHARE = "https://ndownloader.figshare.com/files"

_FOLDS = tuple(f"Fold{k}/{part}.txt" for k in range(1, 6) for part in ("train", "vali", "test"))
_PUT = "Put it into {folder} and run: rankwright datasets get {name}. It is checked and unpacked."
_MOVE = (
    "Unpack it (unrar x or 7z x) and move its folders Fold1, ..., Fold5 to {folder}. In each are "
    "train.txt, vali.txt and test.txt."
)
_MOVE_NORM = (
    "Unpack it (unrar x or 7z x). Below QueryLevelNorm is one folder for each collection; move "
    "Fold1, ..., Fold5 of this one to {folder}, with the files of each named train.txt, vali.txt "
    "and test.txt."
)


def _letor_3(name: str, contents: str, archive: str) -> Benchmark:
    title, page = f"LETOR 3.0 {name.upper()}", f"{_LETOR_PAGE}/letor-3-0/"
    archives = (Archive(archive),)
    return Benchmark(name, title, contents, _MICROSOFT, page, _FOLDS, archives, steps=_MOVE_NORM)


def _letor_4(name: str, contents: str) -> Benchmark:
    title, page = f"LETOR 4.0 {name.upper()}", f"{_LETOR_PAGE}/letor-4-0/"
    archives = (Archive(f"{name.upper()}.rar"),)
    return Benchmark(name, title, contents, _MICROSOFT, page, _FOLDS, archives, steps=_MOVE)


def _mslr(name: str, contents: str, sha256: str) -> Benchmark:
    title, page = name.upper(), "https://www.microsoft.com/en-us/research/project/mslr/"
    archives = (Archive(f"{title}.zip", sha256),)
    return Benchmark(name, title, contents, _MICROSOFT, page, _FOLDS, archives, steps=_PUT)


def _istella(name: str, contents: str, files: tuple[str, ...], archive: Archive) -> Benchmark:
    title, page = name.title(), "http://quickrank.isti.cnr.it/istella-dataset/"
    return Benchmark(name, title, contents, _ISTELLA, page, files, (archive,), must_accept=True)


def _movielens(short: str, contents: str, file: str, sha256: str, size: int | None) -> Benchmark:
    page = f"https://grouplens.org/datasets/movielens/{short}/"
    url = f"https://files.grouplens.org/datasets/movielens/ml-{short}.zip"
    return Benchmark(
        f"movielens-{short}",
        f"MovieLens {short.upper()}",
        contents,
        _GROUPLENS,
        page,
        (f"ml-{short}/{file}",),
        (Archive(f"ml-{short}.zip", sha256, url, size),),
    )


BENCHMARKS: tuple[Benchmark, ...] = (
    _letor_4("mq2007", "1,692 queries, 69,623 documents, 46 features, labels 0-2, 5 folds"),
    _letor_4("mq2008", "784 queries, 15,211 documents, 46 features, labels 0-2, 5 folds"),
    _letor_3(
        "ohsumed",
        "106 queries, 16,140 documents, 45 features, labels 0-2, 5 folds",
        "OHSUMED.zip",
    ),
    _letor_3("td2003", "50 queries, 64 features, labels 0-1, 5 folds", "Gov.rar"),
    _letor_3("td2004", "75 queries, 64 features, labels 0-1, 5 folds", "Gov.rar"),
    _letor_3("np2003", "150 queries, 64 features, labels 0-1, 5 folds", "Gov.rar"),
    _letor_3("np2004", "75 queries, 64 features, labels 0-1, 5 folds", "Gov.rar"),
    _letor_3("hp2003", "150 queries, 64 features, labels 0-1, 5 folds", "Gov.rar"),
    _letor_3("hp2004", "75 queries, 64 features, labels 0-1, 5 folds", "Gov.rar"),
    _mslr(
        "mslr-web10k",
        "10,000 queries, 1,200,192 documents, 136 features, labels 0-4, 5 folds",
        "2902142ea33f18c59414f654212de5063033b707d5c3939556124b1120d3a0ba",
    ),
    _mslr(
        "mslr-web30k",
        "31,531 queries, 3,771,125 documents, 136 features, labels 0-4, 5 folds",
        "08cb7977e1d5cbdeb57a9a2537a0923dbca6d46a76db9a6afc69e043c85341ae",
    ),
    Benchmark(
        "yahoo-c14",
        "Yahoo! Learning to Rank Challenge (C14)",
        "36,251 queries, 882,747 documents in two sets, 700 features, labels 0-4",
        _YAHOO,
        "https://webscope.sandbox.yahoo.com/catalog.php?datatype=c",
        tuple(f"set{k}.{part}.txt" for k in (1, 2) for part in ("train", "valid", "test")),
        (Archive("ltrc_yahoo.tar.bz2"),),
        steps="It is within the archive that Yahoo sends on request. " + _PUT,
    ),
    _istella(
        "istella",
        "33,018 queries, 10,454,629 documents, 220 features, labels 0-4",
        ("full/train.txt", "full/test.txt"),
        Archive(
            "istella-letor.tar.gz",
            "d45899d9a6a0e48afb250aac7ee3dc50e73e263687f15761d754515cd8284e0b",
            "http://library.istella.it/dataset/istella-letor.tar.gz",
        ),
    ),
    _istella(
        "istella-s",
        "33,018 queries, 3,408,630 documents, 220 features, labels 0-4",
        ("sample/train.txt", "sample/vali.txt", "sample/test.txt"),
        Archive(
            "istella-s-letor.tar.gz",
            "41b21116a3650cc043dbe16f02ee39f4467f9405b37fdbcc9a6a05e230a38981",
            "http://library.istella.it/dataset/istella-s-letor.tar.gz",
            472_129_615,
        ),
    ),
    Benchmark(
        "rcv1",
        "RCV1-v2 (LYRL2004)",
        "804,414 documents, 47,236 features, 103 topics",
        _RCV1,
        "https://www.jmlr.org/papers/volume5/lewis04a/",
        (
            "lyrl2004_vectors_train.dat",
            *(f"lyrl2004_vectors_test_pt{k}.dat" for k in range(4)),
            "rcv1v2.topics.qrels",
        ),
        tuple(
            Archive(f"{name}.gz", sha256, f"{_FIGSHARE}/{number}")
            for name, number, sha256 in (
                (
                    "lyrl2004_vectors_train.dat",
                    5976057,
                    "5468f656d0ba7a83afc7ad44841cf9a53048a5c083eedc005dcdb5cc768924ae",
                ),
                (
                    "lyrl2004_vectors_test_pt0.dat",
                    5976069,
                    "ed40f7e418d10484091b059703eeb95ae3199fe042891dcec4be6696b9968374",
                ),
                (
                    "lyrl2004_vectors_test_pt1.dat",
                    5976066,
                    "87700668ae45d45d5ca1ef6ae9bd81ab0f5ec88cc95dcef9ae7838f727a13aa6",
                ),
                (
                    "lyrl2004_vectors_test_pt2.dat",
                    5976063,
                    "48143ac703cbe33299f7ae9f4995db49a258690f60e5debbff8995c34841c7f5",
                ),
                (
                    "lyrl2004_vectors_test_pt3.dat",
                    5976060,
                    "dfcb0d658311481523c6e6ca0c3f5a3e1d3d12cde5d7a8ce629a9006ec7dbb39",
                ),
                (
                    "rcv1v2.topics.qrels",
                    5976048,
                    "2a98e5e5d8b770bded93afc8930d88299474317fe14181aee1466cc754d0d1c1",
                ),
            )
        ),
    ),
    _movielens(
        "100k",
        "943 users, 1,682 films, 100,000 ratings 1-5",
        "u.data",
        "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229",
        4_924_029,
    ),
    _movielens(
        "1m",
        "6,040 users, 3,706 films, 1,000,209 ratings 1-5",
        "ratings.dat",
        "a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
        None,
    ),
)


def find_benchmark(name: str) -> Benchmark:
    """Return a benchmark by its name.

    Examples
    --------
    >>> find_benchmark("mq2008").contents
    '784 queries, 15,211 documents, 46 features, labels 0-2, 5 folds'
    """
    for benchmark in BENCHMARKS:
        if benchmark.name == name:
            return benchmark
    names = [benchmark.name for benchmark in BENCHMARKS]
    raise ValueError(
        f"there is no data set {name!r}. There are {', '.join(names)}.{meant(name, names)}"
    )
