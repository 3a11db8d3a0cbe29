#!/usr/bin/env python3
"""Whether the default voice is understood: thirty sentences, spoken and transcribed.

    tests/compare/intelligibility.py [--bar 0.05] [--keep FOLDER]

Speaks every sentence of heldout.tsv with `promenade speak` (PROMENADE_BIN, or the release build),
transcribes it with Whisper tiny.en and prints the word error rate: substituted, missing and added words over the words that are said. A
number or an abbreviation counts as right in any spelling that heldout.tsv lists for what is said.
The sentences are for this check alone: nothing was tuned on them.

Fails when the rate is above the bar. Needs the default voice and the recogniser installed
(`promenade models install`, with `whisper-tiny-en`). Makes a virtual environment with
faster-whisper in the build folder the first time.
"""

import argparse
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PACKAGES = ["faster-whisper==1.2.1"]


def cache():
    for name, rest in [("PROMENADE_CACHE", "."), ("XDG_CACHE_HOME", "promenade"), ("HOME", ".cache/promenade")]:
        if os.environ.get(name):
            return pathlib.Path(os.environ[name]) / rest
    sys.exit("no cache folder: set PROMENADE_CACHE, XDG_CACHE_HOME or HOME")


def inside_environment():
    """Runs this script again with the packages it needs."""
    folder = TARGET / "compare-whisper"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (folder / "complete").touch()
    os.execv(python, [str(python), *sys.argv])


def words(text):
    """Lower case, without punctuation; a comma or a point within a number joins."""
    text = re.sub(r"(?<=\d)[,.:](?=\d)", "", text.lower()).replace("%", " percent ")
    text = re.sub(r"\b([ap])\.\s?m\b\.?", r"\1m", text)
    text = re.sub(r"(?<=\d)(?=[ap]m\b)", " ", text)
    return re.sub(r"[^a-z0-9$' ]", " ", text).replace("$", " $").split()


def spellings(reference):
    """Every way to write what is said."""
    parts = re.split(r"\{([^}]*)\}", reference)
    choices = [[part] if index % 2 == 0 else part.split("|") for index, part in enumerate(parts)]
    return [words(" ".join(choice)) for choice in itertools.product(*choices)]


def errors(said, heard):
    """Edit distance in words."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(said, 1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--bar", type=float, default=0.05)
    arguments.add_argument("--keep", type=pathlib.Path, help="a folder for the wav files")
    arguments = arguments.parse_args()
    try:
        import faster_whisper
    except ImportError:
        inside_environment()

    recogniser = cache() / "whisper-tiny-en"
    if not (recogniser / "model.bin").exists():
        sys.exit(f"{recogniser} is not there: run `promenade models install whisper-tiny-en`")
    lines = (ROOT / "tests" / "compare" / "heldout.tsv").read_text().splitlines()
    cases = [line.split("\t") for line in lines if line and not line.startswith("#")]
    program = os.environ.get("PROMENADE_BIN", TARGET / "release" / "promenade")
    model = faster_whisper.WhisperModel(str(recogniser), device="cpu", compute_type="float32")

    wrong = total = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = arguments.keep or pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for index, (text, reference) in enumerate(cases):
            wav = folder / f"{index:02}.wav"
            # A seed each, so that a run can be repeated and a bad draw cannot hide.
            speak = [program, "speak", "--seed", str(index), "--output", wav, "--", text]
            subprocess.run(speak, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            segments, _ = model.transcribe(str(wav), language="en", beam_size=5, condition_on_previous_text=False)
            transcript = " ".join(segment.text for segment in segments)
            heard = words(transcript)
            said = min(spellings(reference), key=lambda said: errors(said, heard))
            missed = errors(said, heard)
            wrong, total = wrong + missed, total + len(said)
            print(json.dumps({"text": text, "heard": transcript.strip(), "errors": missed, "words": len(said)}))
    rate = wrong / total
    print(json.dumps({"word_error_rate": round(rate, 4), "errors": wrong, "words": total, "sentences": len(cases), "bar": arguments.bar, "passed": rate <= arguments.bar}))
    sys.exit(0 if rate <= arguments.bar else 1)


if __name__ == "__main__":
    main()
