"""Models from the files that are published with their weights: the same as the table's, which is from papers."""

import json

import pytest

from colllib.cli import main
from colllib.parallelism import MODELS, Plan
from colllib.training.model_file import from_config, model_of
from colllib.training.step import Training

#: Of each file the keys that say a size.
LLAMA = {
    "hidden_act": "silu",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_attention_heads": 64,
    "num_hidden_layers": 80,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}
MIXTRAL = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_experts_per_tok": 2,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "num_local_experts": 8,
    "vocab_size": 32000,
}
DEEPSEEK = {
    "first_k_dense_replace": 3,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "kv_lora_rank": 512,
    "moe_intermediate_size": 2048,
    "moe_layer_freq": 1,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_attention_heads": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 61,
    "num_key_value_heads": 128,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "topk_method": "noaux_tc",
    "v_head_dim": 128,
    "vocab_size": 129280,
}
QWEN = {  # Qwen3-235B-A22B: 235B parameters, 22B of which a token meets
    "decoder_sparse_step": 1,
    "head_dim": 128,
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "moe_intermediate_size": 1536,
    "num_attention_heads": 64,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 94,
    "num_key_value_heads": 4,
    "vocab_size": 151936,
}


@pytest.mark.parametrize(
    ("name", "config"), [("Llama 3.1 70B", LLAMA), ("Mixtral 8x7B", MIXTRAL), ("DeepSeek-V3", DEEPSEEK)]
)
def test_a_published_file_is_the_model_of_its_paper(name, config):
    known = MODELS[name]
    for read in (from_config(name, config), from_config(name, {"text_config": config})):
        assert (read.parameters, read.active, read.kv_width) == (known.parameters, known.active, known.kv_width)
        assert (read.ffn, read.dense_layers, read.latent) == (known.ffn, known.dense_layers, known.latent)


def test_one_matrix_of_the_vocabulary_is_counted_once_and_once_on_each_end_of_a_pipeline():
    """Llama 3.2 1B as published: 1,235,814,400 parameters in its safetensors file."""
    small = {"hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32, "num_hidden_layers": 16}
    small |= {"head_dim": 64, "num_key_value_heads": 8, "vocab_size": 128256}
    tied, untied = (from_config("Llama 3.2 1B", small | {"tie_word_embeddings": tie}) for tie in (True, False))
    assert (tied.parameters, untied.parameters) == (1_235_814_400, 1_498_482_688)
    plans = Plan(dp=8, zero=0), Plan(dp=4, pp=2, zero=0)
    states = [[Training(model, plan, "dgx-h100:1").state for model in (tied, untied)] for plan in plans]
    assert states[0] == [(2 + 4 + 12) * tied.parameters, (2 + 4 + 12) * untied.parameters]
    assert states[1][0] == states[1][1]


def test_a_model_without_experts_does_not_care_what_its_file_says_of_them():
    words = {"num_experts_per_tok": "none", "n_shared_experts": [1], "first_k_dense_replace": 99}
    read = from_config("Llama 3.1 70B", LLAMA | words)
    assert (read.experts, read.expert_ffn, read.dense_layers) == (0, 0, 0)
    assert read.parameters == MODELS["Llama 3.1 70B"].parameters


def test_experts_of_another_family_are_counted():
    read = from_config("Qwen3", QWEN)
    assert (round(read.parameters / 1e9), round(read.active / 1e9)) == (235, 22)


@pytest.mark.parametrize(
    ("words", "near", "of"),
    [
        ({}, 0, 2),
        ({"sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"]}, 1, 2),  # as GPT-OSS
        ({"sliding_window": 128}, 2, 2),
        ({"sliding_window": 4096}, 2, 2),  # longer than the sequence
        ({"sliding_window": 128, "use_sliding_window": False}, 0, 2),  # as Qwen's
        ({"sliding_window": None, "layer_types": ["full_attention"] * 2}, 0, 2),
    ],
)
def test_attention_in_a_window_meets_no_token_before_it(words, near, of):
    read = from_config("two layers", LLAMA | {"num_hidden_layers": of} | words)
    window, tokens = words.get("sliding_window"), range(2048)
    met = [(of - near) * token + near * min(token, window or token) for token in tokens]
    operations = 2 * 2 * 64 * 128  # of a token met: a product and an addition, with key and value, 64 heads of 128
    assert read.attention(len(tokens)) == pytest.approx(operations * sum(met) / of / len(tokens), rel=2e-3)


def test_a_step_takes_a_model_from_its_file(tmp_path, capsys):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    outputs = []
    for model in ("Llama 3.1 70B", str(tmp_path / "config.json")):
        with pytest.raises(SystemExit) as left:
            main(["step", "--model", model, "--json"])
        assert left.value.code == 0
        outputs.append(json.loads(capsys.readouterr().out))
    assert outputs[0]["time_s"] == outputs[1]["time_s"]
    assert outputs[1]["model"] == tmp_path.name


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "must be an object with keys such as num_hidden_layers"),
        ("{", "Expecting property name"),
        ('{"text_config": null}', "must be an object with keys such as num_hidden_layers"),
        (json.dumps(QWEN | {"num_experts_per_tok": 129}), "a token visits 129 of 128 experts"),
        (json.dumps(QWEN | {"num_experts_per_tok": 0}), "a token visits 0 of 128 experts"),
        ("{}", "hidden_size is missing"),
        (json.dumps(LLAMA | {"num_hidden_layers": "80"}), "num_hidden_layers is '80', must be a whole number"),
        (json.dumps(LLAMA | {"num_hidden_layers": True}), "num_hidden_layers is True, must be a whole number"),
        (json.dumps(LLAMA | {"num_attention_heads": 0}), "heads"),
        (json.dumps(QWEN | {"decoder_sparse_step": 2}), "decoder_sparse_step 2: such layers are not counted here"),
        (
            json.dumps(LLAMA | {"layer_types": ["linear_attention"] * 80}),
            "layer_types 'linear_attention': such layers are not counted here",
        ),
        (json.dumps(LLAMA | {"layer_types": [[]] * 80}), r"layer_types \[\]: such layers are not counted here"),
        (json.dumps(LLAMA | {"layer_types": 5}), "layer_types 5: must name the attention of each of 80 layers"),
        (
            json.dumps(LLAMA | {"layer_types": ["full_attention"] * 3, "sliding_window": 128}),
            "must name the attention of each of 80 layers",
        ),
        (json.dumps(LLAMA | {"hidden_act": "gelu_new"}), "hidden_act 'gelu_new': such layers are not counted here"),
        (json.dumps(QWEN | {"mlp_only_layers": [0]}), r"mlp_only_layers \[0\]: such layers are not counted here"),
        (json.dumps(LLAMA | {"num_hidden_layers": -1}), "num_hidden_layers is -1"),
        ("[" * 100_000, "model"),
    ],
)
def test_a_file_that_is_no_model_s_is_refused_in_one_line(text, why, tmp_path):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ValueError, match=why) as error:
        model_of(str(tmp_path / "config.json"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["Llama-3.1-70B", "llama_3.1_70b", "Llama 3.1 70B", "LLAMA3.1-70B"])
def test_a_published_model_is_known_however_it_is_spelled(name):
    assert model_of(name) is MODELS["Llama 3.1 70B"]


def test_a_file_that_is_not_there_or_too_large_and_a_name_that_is_unknown_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"model 'nowhere.json': it is not there$"):
        model_of("nowhere.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(ValueError, match=r"it is a directory$"):
        model_of(str(tmp_path / "folder.json"))
    (tmp_path / "large.json").write_text(" " * (2**20 + 1))
    with pytest.raises(ValueError, match=r"it has 1,048,577 bytes, and at most 1 MiB is read$"):
        model_of(str(tmp_path / "large.json"))
    with pytest.raises(ValueError, match=r"unknown model 'GPT': known are .* or the config.json of one"):
        model_of("GPT")
