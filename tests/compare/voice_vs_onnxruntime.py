#!/usr/bin/env python3
"""What the streamed voice costs beside ONNX Runtime running the same weights whole.

    tests/compare/voice_vs_onnxruntime.py [--rounds N] [--bar 1.45]

Both read the same sentences as the same phoneme numbers on one thread. Ours goes through the walk,
in chunks with the ramp; ONNX Runtime runs the uncut graph once per sentence. The two take turns,
so that a busy machine is busy for both. What is compared is CPU seconds of the process per second
of audio; of several rounds the median ratio counts. VITS draws its durations, so the two
do not speak for exactly as long: hence per second of audio.

Prints one JSON object, and fails when the ratio is above the bar. Needs the default voice
installed (`promenade models install`). Makes a virtual environment with onnxruntime and numpy in
the build folder the first time.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PACKAGES = ["onnxruntime==1.32.0", "numpy"]

TEXTS = [
    "The quick brown fox jumps over the lazy dog near the old river bank this morning.",
    "Streaming speech should begin before the sentence ends, so that nobody waits for it.",
    "She walked home through the quiet evening, past the mill and the long row of poplars.",
    "A good engine leaves nothing to chance, and says so when it has to.",
    "When the last train had gone, the station was as silent as a church on a weekday.",
]


def cache():
    for name, rest in [("PROMENADE_CACHE", "."), ("XDG_CACHE_HOME", "promenade"), ("HOME", ".cache/promenade")]:
        if os.environ.get(name):
            return pathlib.Path(os.environ[name]) / rest
    sys.exit("no cache folder: set PROMENADE_CACHE, XDG_CACHE_HOME or HOME")


def inside_environment():
    """Runs this script again with the packages it needs."""
    folder = TARGET / "compare-onnxruntime"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (folder / "complete").touch()
    os.execv(python, [str(python), *sys.argv])


def reference(weights, description, numbers):
    """CPU seconds and seconds of audio for each list of phoneme numbers."""
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
    told = description["inference"]
    scales = numpy.array([told["noise_scale"], told["length_scale"], told["noise_w"]], numpy.float32)

    def speak(ids):
        start = time.process_time()
        (samples,) = session.run(
            None,
            {
                "input": numpy.array([ids], numpy.int64),
                "input_lengths": numpy.array([len(ids)], numpy.int64),
                "scales": scales,
            },
        )
        return time.process_time() - start, samples.size / description["audio"]["sample_rate"]

    speak(numbers[0])
    return [speak(ids) for ids in numbers]


def ours(program, texts):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(texts))
        file.flush()
        done = subprocess.run([program, file.name, "1"], check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--bar", type=float, default=1.45)
    arguments = arguments.parse_args()
    try:
        import onnxruntime  # noqa: F401
    except ImportError:
        inside_environment()

    weights = cache() / "voice-en-us-joe" / "en_US-joe-medium.onnx"
    if not weights.exists():
        sys.exit(f"{weights} is not there: run `promenade models install`")
    description = json.loads(pathlib.Path(f"{weights}.json").read_text())
    build = ["cargo", "build", "--quiet", "--release", "-p", "models", "--example", "voice_cost"]
    subprocess.run(build, check=True, cwd=ROOT)
    program = TARGET / "release" / "examples" / "voice_cost"

    rounds = []
    for _ in range(arguments.rounds):
        spoken = ours(program, TEXTS)
        whole = reference(weights, description, [line["ids"] for line in spoken])
        streamed = sum(line["cpu_s"] for line in spoken) / sum(line["audio_s"] for line in spoken)
        reference_cost = sum(cpu for cpu, _ in whole) / sum(audio for _, audio in whole)
        rounds.append(
            {
                "streamed_cpu_per_audio_s": round(streamed, 4),
                "onnxruntime_cpu_per_audio_s": round(reference_cost, 4),
                "ratio": round(streamed / reference_cost, 3),
                "first_ms": [line["first_ms"] for line in spoken],
            }
        )
    ratio = statistics.median(one["ratio"] for one in rounds)
    result = {"ratio": ratio, "bar": arguments.bar, "passed": ratio <= arguments.bar, "rounds": rounds}
    print(json.dumps(result, indent=1))
    sys.exit(0 if result["passed"] else 1)


if __name__ == "__main__":
    main()
