#!/usr/bin/env python3
"""Writes probabilities.json: what ONNX Runtime makes of the signal below with the published
Silero VAD file. Needs numpy and onnxruntime; the file's path is the argument.

The signal is noise of one part in a thousand, in which a buzzing vowel comes and goes. It is made
by the same formula in engine/models/src/silero/tests.rs.
"""
import json
import math
import sys

import numpy as np
import onnxruntime

RATE, FRAME, CONTEXT, FRAMES = 16_000, 512, 64, 160


def signal():
    out, noise, phase = np.zeros(FRAMES * FRAME, dtype=np.float32), 1, 0.0
    for n in range(len(out)):
        t = n / RATE
        noise = (noise * 1_664_525 + 1_013_904_223) % 2**32
        hiss = (noise / 2**32 - 0.5) * 0.002
        phase += (120.0 + 25.0 * math.sin(2.0 * math.pi * 0.7 * t)) / RATE
        # Speech for 1.4 s of every 2.2 s, in syllables.
        envelope = 1.0 if t % 2.2 >= 0.8 else 0.0
        envelope *= 0.5 - 0.5 * math.cos(2.0 * math.pi * 4.0 * t)
        vowel = 0.0
        for k in range(1, 25):
            hertz = 120.0 * k
            loud = sum(math.exp(-(((hertz - f) / 180.0) ** 2)) for f in (600.0, 1200.0, 2500.0))
            vowel += (0.02 + loud) * math.sin(2.0 * math.pi * k * phase)
        out[n] = hiss + 0.08 * envelope * vowel
    return out


def main():
    session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    state, context = np.zeros((2, 1, 128), dtype=np.float32), np.zeros(CONTEXT, dtype=np.float32)
    probabilities = []
    for frame in signal().reshape(FRAMES, FRAME):
        heard = np.concatenate([context, frame])[None]
        feed = {"input": heard, "state": state, "sr": np.array(RATE, dtype=np.int64)}
        probability, state = session.run(None, {n: feed[n] for n in names})
        context = frame[-CONTEXT:]
        probabilities.append(round(float(probability[0, 0]), 6))
    print(json.dumps(probabilities))


main()
