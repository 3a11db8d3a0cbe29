#!/usr/bin/env python3
"""Tokens per second of our language model and of llama.cpp, on the same file in the same run.

    cargo build --release -p engine --example language_cost
    python3 -m pip install llama-cpp-python numpy
    python3 tests/compare/language_vs_llama_cpp.py MODEL.gguf [--threads 2] [--rounds 3]

Both sides read a prompt of about 512 tokens and write 128 tokens, one after the other, in each
round; the medians over the rounds are compared. Ours is measured end to end, through the engine:
template, tokens, batches, sampling, text. llama.cpp's is the time inside `llama_decode` and the
choice of the likeliest token, without a tokenizer and without text. Both greedy answers to one
question are printed, to be read: llama.cpp rounds what it multiplies to 8 bits and we do not, so
that near ties may fall either way.

Prints one JSON object.
"""

import argparse
import ctypes
import json
import statistics
import subprocess
import sys
import time

PROGRAM = "target/release/examples/language_cost"
QUESTION = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n<|im_start|>user\nWhat is the capital of France?<|im_end|>\n"
    "<|im_start|>assistant\n"
)
PROMPT_TOKENS, WRITTEN_TOKENS, WORDS = 512, 128, 480


class LlamaCpp:
    """A model in llama.cpp, by its C interface: what Python adds is not measured."""

    def __init__(self, path, threads):
        import llama_cpp
        import numpy

        self.api, self.numpy = llama_cpp, numpy
        llama_cpp.llama_backend_init()
        quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(quiet, ctypes.c_void_p(0))
        self.quiet = quiet
        model_parameters = llama_cpp.llama_model_default_params()
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), model_parameters)
        parameters = llama_cpp.llama_context_default_params()
        parameters.n_ctx, parameters.n_batch, parameters.n_ubatch = 2048, 512, 512
        parameters.n_threads = parameters.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, parameters)
        self.vocabulary = llama_cpp.llama_model_get_vocab(self.model)
        self.size = llama_cpp.llama_vocab_n_tokens(self.vocabulary)

    def tokens(self, text):
        raw = text.encode()
        found = (self.api.llama_token * 2048)()
        count = self.api.llama_tokenize(self.vocabulary, raw, len(raw), found, 2048, False, True)
        return list(found[:count])

    def forget(self):
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), True)

    def read(self, tokens):
        """The likeliest token behind these."""
        array = (self.api.llama_token * len(tokens))(*tokens)
        batch = self.api.llama_batch_get_one(array, len(tokens))
        if self.api.llama_decode(self.context, batch) != 0:
            raise RuntimeError("llama_decode failed")
        logits = self.api.llama_get_logits_ith(self.context, -1)
        return int(self.numpy.ctypeslib.as_array(logits, (self.size,)).argmax())

    def text(self, token):
        piece = ctypes.create_string_buffer(256)
        count = self.api.llama_token_to_piece(self.vocabulary, token, piece, 256, 0, False)
        return piece.raw[:count]

    def answer(self):
        self.forget()
        token, said = self.read(self.tokens(QUESTION)), b""
        for _ in range(32):
            if self.api.llama_vocab_is_eog(self.vocabulary, token):
                break
            said += self.text(token)
            token = self.read([token])
        return said.decode()

    def measure(self):
        self.forget()
        words = self.tokens(" ".join(["river", "stone", "window", "seven"] * 256))
        begun = time.perf_counter()
        self.read(words[:PROMPT_TOKENS])
        prefill = PROMPT_TOKENS / (time.perf_counter() - begun)
        self.forget()
        token = self.read(self.tokens(QUESTION))
        begun = time.perf_counter()
        for _ in range(WRITTEN_TOKENS):
            token = self.read([token])
        return prefill, WRITTEN_TOKENS / (time.perf_counter() - begun)


def ours(program, path, threads, streams):
    command = [program, path, str(threads), str(streams), str(WRITTEN_TOKENS), str(WORDS)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(printed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gguf")
    parser.add_argument("--program", default=PROGRAM)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    theirs = LlamaCpp(options.gguf, options.threads)
    rows = {name: [] for name in ("our_decode", "our_decode_8", "our_prefill", "their_decode", "their_prefill")}
    answers = {}
    for _ in range(options.rounds):
        one = ours(options.program, options.gguf, options.threads, 1)
        eight = ours(options.program, options.gguf, options.threads, 8)
        prefill, decode = theirs.measure()
        answers = {"ours": one["answer"].strip(), "theirs": theirs.answer().strip()}
        rows["our_decode"].append(one["decode_tok_s"])
        rows["our_decode_8"].append(eight["decode_tok_s"])
        rows["our_prefill"].append(one["prefill_tok_s"])
        rows["their_decode"].append(decode)
        rows["their_prefill"].append(prefill)
    medians = {name: round(statistics.median(values), 1) for name, values in rows.items()}
    medians["decode_ratio"] = round(medians["our_decode"] / medians["their_decode"], 2)
    medians["prefill_ratio"] = round(medians["our_prefill"] / medians["their_prefill"], 2)
    medians["batch_8_gain"] = round(medians["our_decode_8"] / medians["our_decode"], 2)
    medians.update(threads=options.threads, rounds=options.rounds, answers=answers)
    print(json.dumps(medians, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
