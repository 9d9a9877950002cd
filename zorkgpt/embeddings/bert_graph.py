"""A BERT encoder as an ONNX graph, built from the weights that sentence-transformers reads.

Inputs and output have the same names as in `onnx/model.onnx` on the model hub, so that the files are interchangeable.
"""

from pathlib import Path
from typing import Any

from zorkgpt.bounded import SETTING, parse_json, read_file
from zorkgpt.embeddings.arrays import np

# Gelu is an operator since opset 20, which goes with version 9 of the file format.
_OPSET, _IR_VERSION = 20, 9


def bert_graph(folder: Path) -> bytes:
    """Return the serialized graph of the model in a folder with `config.json` and `model.safetensors`.

    Raises:
        OSError, KeyError, ValueError: If the folder has no BERT model.
    """
    from safetensors.numpy import load_file

    config = parse_json(read_file(folder / "config.json", SETTING), SETTING)
    if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
        raise ValueError(f"{folder} does not contain a BERT model with GELU")
    graph = _Graph(load_file(folder / "model.safetensors"), config)
    hidden = graph.embeddings()
    bias = graph.padding_bias()
    for layer in range(config["num_hidden_layers"]):
        hidden = graph.layer(hidden, bias, f"encoder.layer.{layer}")
    return graph.serialized(hidden)


class _Graph:
    """A graph under construction. Methods add nodes in the order of computation and return the name of the result."""

    def __init__(self, weights: dict[str, np.ndarray], config: dict[str, Any]) -> None:
        import onnx

        self._onnx = onnx
        self._weights = weights
        self._heads = config["num_attention_heads"]
        self._head_size = config["hidden_size"] // self._heads
        self._width = config["hidden_size"]
        self._epsilon = config["layer_norm_eps"]
        self._nodes: list[Any] = []
        self._constants: dict[str, np.ndarray] = {}

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"{operator}_{len(self._nodes)}"
        self._nodes.append(self._onnx.helper.make_node(operator, list(inputs), [name], name, **attributes))
        return name

    def constant(self, name: str, value: np.ndarray) -> str:
        self._constants[name] = value
        return name

    def weight(self, name: str) -> str:
        return self.constant(name, self._weights[name])

    def dense(self, hidden: str, name: str) -> str:
        # PyTorch stores (out, in), but MatMul needs (in, out).
        matrix = self.constant(f"{name}.matrix", np.ascontiguousarray(self._weights[f"{name}.weight"].T))
        return self.node("Add", self.node("MatMul", hidden, matrix), self.weight(f"{name}.bias"))

    def norm(self, hidden: str, name: str) -> str:
        scale, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.node("LayerNormalization", hidden, scale, bias, axis=-1, epsilon=self._epsilon)

    def embeddings(self) -> str:
        words = self.node("Gather", self.weight("embeddings.word_embeddings.weight"), "input_ids")
        types = self.node("Gather", self.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
        one, zero = self.constant("one", np.array([1])), self.constant("zero", np.array([0]))
        length = self.node("Slice", self.node("Shape", "input_ids"), one, self.constant("two", np.array([2])))
        table = self.weight("embeddings.position_embeddings.weight")
        positions = self.node("Slice", table, zero, length, zero)
        summed = self.node("Add", self.node("Add", words, types), positions)
        return self.norm(summed, "embeddings.LayerNorm")

    def padding_bias(self) -> str:
        """Add a bias of 0 for tokens and the lowest number for padding, of shape (batch, 1, 1, length)."""
        lowest = self.constant("lowest", np.array(np.finfo(np.float32).min, dtype=np.float32))
        mask = self.node("Cast", "attention_mask", to=self._onnx.TensorProto.FLOAT)
        missing = self.node("Sub", self.constant("one_f", np.array(1, dtype=np.float32)), mask)
        axes = self.constant("mask_axes", np.array([1, 2]))
        return self.node("Unsqueeze", self.node("Mul", missing, lowest), axes)

    def heads(self, hidden: str, name: str, order: list[int]) -> str:
        shape = self.constant("split_heads", np.array([0, 0, self._heads, self._head_size]))
        return self.node("Transpose", self.node("Reshape", self.dense(hidden, name), shape), perm=order)

    def attention(self, hidden: str, bias: str, name: str) -> str:
        query = self.heads(hidden, f"{name}.query", [0, 2, 1, 3])
        key = self.heads(hidden, f"{name}.key", [0, 2, 3, 1])
        value = self.heads(hidden, f"{name}.value", [0, 2, 1, 3])
        scale = self.constant("scale", np.array(self._head_size**0.5, dtype=np.float32))
        scores = self.node("Add", self.node("Div", self.node("MatMul", query, key), scale), bias)
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        joined = self.constant("join_heads", np.array([0, 0, self._width]))
        return self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]), joined)

    def layer(self, hidden: str, bias: str, name: str) -> str:
        attended = self.dense(self.attention(hidden, bias, f"{name}.attention.self"), f"{name}.attention.output.dense")
        hidden = self.norm(self.node("Add", attended, hidden), f"{name}.attention.output.LayerNorm")
        wide = self.node("Gelu", self.dense(hidden, f"{name}.intermediate.dense"))
        return self.norm(self.node("Add", self.dense(wide, f"{name}.output.dense"), hidden), f"{name}.output.LayerNorm")

    def serialized(self, result: str) -> bytes:
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        self._nodes.append(helper.make_node("Identity", [result], ["last_hidden_state"]))
        names = ("input_ids", "attention_mask", "token_type_ids")
        inputs = [helper.make_tensor_value_info(name, kinds.INT64, ["batch", "length"]) for name in names]
        output = helper.make_tensor_value_info("last_hidden_state", kinds.FLOAT, ["batch", "length", self._width])
        constants = [self._onnx.numpy_helper.from_array(value, name) for name, value in self._constants.items()]
        graph = helper.make_graph(self._nodes, "bert", inputs, [output], constants)
        imports = [helper.make_opsetid("", _OPSET)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=_IR_VERSION, producer_name="zorkgpt")
        serialized: bytes = model.SerializeToString()
        return serialized
