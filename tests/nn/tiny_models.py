"""Small random encoders of several families with tokenizers of their own kind, saved as Hugging Face does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

TEXT = ["the cat sees a dog", "unbelievable meetings in Zürich", "Zeno organised it", "k j i h g f e d c b a"]
SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 64,
}
FAMILIES = ("roberta", "bert", "mpnet", "deberta-v2", "electra")


def save_tiny_model(family: str, folder: Path) -> Path:
    """An encoder of that family with random weights, in a folder."""
    import transformers

    tokenizer = _tokenizer(family)
    changes: dict[str, Any] = {"embedding_size": 8} if family == "electra" else {}
    config = transformers.AutoConfig.for_model(
        family, **SIZES, **changes, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id
    )
    torch.manual_seed(1)
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _tokenizer(family: str) -> Any:
    """Byte-level BPE for RoBERTa, pieces behind a mark of the blank for DeBERTa, else WordPiece."""
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    first, last, unknown, pad = ("<s>", "</s>", "<unk>", "<pad>") if family in ("roberta", "mpnet") else (
        "[CLS]", "[SEP]", "[UNK]", "[PAD]"
    )  # fmt: skip
    special = [first, pad, last, unknown, "<mask>"]
    if family == "roberta":
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        made.train_from_iterator(
            TEXT, trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=alphabet)
        )
    elif family == "deberta-v2":
        made = Tokenizer(models.Unigram())
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        made.train_from_iterator(
            TEXT, trainers.UnigramTrainer(vocab_size=60, special_tokens=special, unk_token=unknown, show_progress=False)
        )
    else:
        made = Tokenizer(models.WordPiece(unk_token=unknown))
        made.normalizer = normalizers.BertNormalizer()
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        made.train_from_iterator(
            TEXT, trainers.WordPieceTrainer(vocab_size=80, special_tokens=special, show_progress=False)
        )
    ends = (last, made.token_to_id(last)), (first, made.token_to_id(first))
    made.post_processor = processors.BertProcessing(*ends)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, cls_token=first, sep_token=last, unk_token=unknown, pad_token=pad, mask_token="<mask>"
    )
