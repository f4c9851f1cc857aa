"""A model of one's own: the config.json that is published with a model's weights."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from colllib.cli_io import spelled
from colllib.limits import small_text
from colllib.parallelism import MODELS, Latent, Model
from colllib.primitives import is_whole
from colllib.units import shortened

#: What a key may be of layers that are all alike but for dense ones at the bottom, with gated MLPs.
_COUNTED: dict[str, tuple[Any, ...]] = {
    "hidden_act": (None, "silu", "swish"),
    "decoder_sparse_step": (None, 1),
    "moe_layer_freq": (None, 1),
    "mlp_only_layers": (None, []),
    "shared_expert_intermediate_size": (None, 0),
    "intermediate_size_mlp": (None,),
}
_LATENT = ("q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


def model_of(text: str) -> Model:
    """A published model by its name, or one from the path of a config.json.

    Raises:
        ValueError: for an unknown name, or a file that cannot be read or is none.
    """
    if not text.endswith(".json"):
        name = spelled(text, MODELS)
        if name not in MODELS:
            own = "or the config.json of one"
            raise ValueError(f"unknown model {shortened(text)!r}: known are {', '.join(MODELS)}, {own}")
        return MODELS[name]
    path = Path(text)
    try:
        config = json.loads(small_text(path))
        return from_config(path.parent.name or path.stem, config)
    except (OSError, ValueError, RecursionError) as error:  # of JSON, of UTF-8 or of a value
        raise ValueError(f"model {shortened(text)!r}: {error}") from None


def from_config(name: str, config: Mapping[str, Any]) -> Model:
    """A model from the keys of a config.json, as Hugging Face's transformers library writes it.

    Args:
        config: of a decoder with gated MLPs, dense or with experts in all layers but perhaps the first.

    Raises:
        ValueError: for a key that is missing or no whole number, or layers that differ in another way.

    >>> llama = {"num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
    ...          "intermediate_size": 14336, "vocab_size": 128256}
    >>> from_config("mine", llama).parameters == MODELS["Llama 3.1 8B"].parameters
    True
    """
    if isinstance(config, Mapping):
        config = config.get("text_config", config)  # of a model that also sees
    if not isinstance(config, Mapping):
        raise ValueError("must be an object with keys such as num_hidden_layers")

    def size(*keys: str, default: int | None = None) -> int:
        value = next((config[key] for key in keys if config.get(key) is not None), default)
        if value is None or not is_whole(value) or not 0 <= value < 2**31:
            actual = "missing" if value is None else f"{shortened(repr(value))}, must be a whole number"
            raise ValueError(f"{keys[0]} is {actual}")
        return int(value)

    for key, counted in _COUNTED.items():
        if config.get(key) not in counted:
            raise ValueError(f"{key} {shortened(repr(config[key]))}: such layers are not counted here")
    hidden, heads, layers = map(size, ("hidden_size", "num_attention_heads", "num_hidden_layers"))
    window = size("sliding_window", default=0) if config.get("use_sliding_window", True) else 0
    windowed = layers if window else 0
    if (kinds := config.get("layer_types")) is not None:
        if not isinstance(kinds, list) or len(kinds) != layers:
            raise ValueError(
                f"layer_types {shortened(repr(kinds))}: must name the attention of each of {layers} layers"
            )
        if unknown := [kind for kind in kinds if kind not in ("full_attention", "sliding_attention")]:
            raise ValueError(f"layer_types {shortened(repr(unknown[0]))}: such layers are not counted here")
        windowed = kinds.count("sliding_attention") if window else 0
    experts = size("n_routed_experts", "num_local_experts", "num_experts", default=0)
    dense, inner, routed = 0, size("intermediate_size"), {}
    if experts:
        dense = size("first_k_dense_replace", default=0)
        routed = {
            "top_k": size("num_experts_per_tok"),
            "expert_ffn": size("moe_intermediate_size", "intermediate_size"),
            "shared_experts": size("n_shared_experts", default=0),
        }
    return Model(
        name,
        "config.json",
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=size("num_key_value_heads", default=heads),
        head_width=size("head_dim", "v_head_dim", default=hidden // max(1, heads)),
        ffn=inner if dense or not experts else 0,
        vocabulary=size("vocab_size"),
        latent=Latent(*map(size, _LATENT)) if "kv_lora_rank" in config else None,
        experts=experts,
        dense_layers=dense,
        tied=bool(config.get("tie_word_embeddings")),
        window=window,
        windowed=windowed,
        router_bias=config.get("topk_method") == "noaux_tc",
        **routed,
    )
