#!/usr/bin/env python3
"""Writes judgements.json: what ONNX Runtime makes of the signal below with the published Smart Turn
file in f32. Needs numpy, onnx and onnxruntime; the file's path is the argument.

The file holds weights of 8 bits, and rounds what flows between them to 8 bits too, which gives other
answers on other processors. So each rounding is taken out of the graph, and the weights are left as their
8 bits say. The signal is that of engine/models/src/silero/tests.rs.
"""
import json
import math
import sys

import numpy as np
import onnx
import onnxruntime

RATE, FRAME, WINDOW, HOP, BINS = 16_000, 512, 400, 160, 80
SECONDS = 8


def signal(frames):
    out, noise, phase = np.zeros(frames * FRAME, dtype=np.float32), 1, 0.0
    for n in range(len(out)):
        t = n / RATE
        noise = (noise * 1_664_525 + 1_013_904_223) % 2**32
        hiss = (noise / 2**32 - 0.5) * 0.002
        phase += (120.0 + 25.0 * math.sin(2.0 * math.pi * 0.7 * t)) / RATE
        envelope = 1.0 if t % 2.2 >= 0.8 else 0.0
        envelope *= 0.5 - 0.5 * math.cos(2.0 * math.pi * 4.0 * t)
        vowel = 0.0
        for k in range(1, 25):
            hertz = 120.0 * k
            loud = sum(math.exp(-(((hertz - f) / 180.0) ** 2)) for f in (600.0, 1200.0, 2500.0))
            vowel += (0.02 + loud) * math.sin(2.0 * math.pi * k * phase)
        out[n] = hiss + 0.08 * envelope * vowel
    return out


def bands():
    """Slaney's triangles of equal area."""
    mel = lambda h: h * 3 / 200 if h < 1000 else 15 + math.log(h / 1000) / (math.log(6.4) / 27)
    hertz = lambda m: m * 200 / 3 if m < 15 else 1000 * math.exp((m - 15) * math.log(6.4) / 27)
    corners = [hertz(mel(RATE / 2) * i / (BINS + 1)) for i in range(BINS + 2)]
    at = np.linspace(0, RATE / 2, WINDOW // 2 + 1)
    rows = []
    for low, middle, high in zip(corners, corners[1:], corners[2:]):
        triangle = np.minimum((at - low) / (middle - low), (high - at) / (high - middle))
        rows.append(np.maximum(triangle, 0) * 2 / (high - low))
    return np.array(rows)


def features(samples):
    """The last 8 s, silence before them where there is less; centred, scaled, as log-mel frames."""
    length = SECONDS * RATE
    heard = samples[-length:].astype(np.float64)
    heard = np.pad(heard, (length - len(heard), 0))
    heard = (heard - heard.mean()) / np.sqrt(heard.var() + 1e-7)
    mirrored = np.pad(heard, WINDOW // 2, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(mirrored, WINDOW)[::HOP][: length // HOP]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    power = np.abs(np.fft.rfft(windows * hann, axis=1)) ** 2
    logs = np.log10(np.maximum(power @ bands().T, 1e-10))
    return ((np.maximum(logs, logs.max() - 8) + 4) / 4).T.astype(np.float32)


def unrounded(path):
    """The graph without the roundings between its operations."""
    model = onnx.load(path)
    graph = model.graph
    makers = {output: node for node in graph.node for output in node.output}
    constant = {tensor.name for tensor in graph.initializer}
    renamed = {}
    for node in graph.node:
        rounds = makers.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
        if rounds is not None and rounds.op_type == "QuantizeLinear" and rounds.input[0] not in constant:
            renamed[node.output[0]] = rounds.input[0]
    for node in graph.node:
        for index, name in enumerate(node.input):
            while name in renamed:
                name = renamed[name]
            node.input[index] = name
    pooled = next(node for node in graph.node if node.op_type == "ReduceSum").output[0]
    result = graph.output[0].name
    while result in renamed:
        result = renamed[result]
    graph.output.append(onnx.helper.make_tensor_value_info(pooled, onnx.TensorProto.FLOAT, None))
    return model.SerializeToString(), pooled, result


def main():
    model, pooled, result = unrounded(sys.argv[1])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    cases = []
    for frames in (40, 60, 90, 160, 300):
        probability, states = session.run([result, pooled], {"input_features": features(signal(frames))[None]})
        cases.append({
            "frames": frames,
            "probability": round(float(np.ravel(probability)[0]), 6),
            "pooled": [round(float(value), 5) for value in np.ravel(states)],
        })
    print(json.dumps(cases))


main()
