"""SmolLM2's tokenizer, from the tokens and merges of a GGUF file."""

from tokenizers import Tokenizer, models, pre_tokenizers

START, END = "<|im_start|>", "<|im_end|>"


def alphabet():
    """The bytes, by the letters that byte-level tokens are written with."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {**{chr(b): b for b in plain}, **{chr(256 + i): b for i, b in enumerate(others)}}


class ChatTokenizer:
    def __init__(self, tokens, merges):
        self.ids = {t: i for i, t in enumerate(tokens)}
        pairs = [tuple(m.split(" ")) for m in merges]
        self.bpe = Tokenizer(models.BPE(self.ids, pairs))
        self.bpe.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
        letters = alphabet()
        # A mark of the template is no text.
        self.bytes = [b"" if t in (START, END) else bytes(letters[c] for c in t if c in letters) for t in tokens]
        self.end = {self.ids[END], self.ids["<|endoftext|>"]}

    def prompt(self, messages, regions):
        """Renders a conversation in ChatML: its tokens, and the region of each.

        messages are (role, text), regions one list of (start, end, region) in
        characters for each. Only the template's own marks become special
        tokens, and they are of no region (-1).
        """
        tokens, where = [], []

        def add(ids, regions):
            tokens.extend(ids)
            where.extend(regions)

        for (role, text), parts in zip(messages, regions):
            add([self.ids[START]], [-1])
            encoded = self.bpe.encode(role + "\n" + text)
            of = []
            for start, end in encoded.offsets:
                # The region of most of the token's characters is at its middle.
                at = (start + end) // 2 - len(role) - 1
                of.append(next((r for s, e, r in parts if s <= at < e), -1))
            add(encoded.ids, of)
            add([self.ids[END]], [-1])
            line = self.bpe.encode("\n").ids
            add(line, [-1] * len(line))
        add([self.ids[START]], [-1])
        ids = self.bpe.encode("assistant\n").ids
        add(ids, [-1] * len(ids))
        return tokens, where
