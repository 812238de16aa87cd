"""Models of transformers, timm and torchvision, from small configurations without weights.

Each entry of MODELS is a function that returns a module and the tensors it is called with. A module returns a loss, so that its
gradients say something about every parameter.
"""

import timm
import torch
import torchvision.models as tv
import transformers as hf
from torchvision.models.convnext import CNBlockConfig, ConvNeXt
from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet
from torchvision.models.swin_transformer import SwinTransformer

TEXT = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=64, max_position_embeddings=32)


class OnImages(torch.nn.Module):
    """A classifier and its loss."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images, labels):
        return torch.nn.functional.cross_entropy(self.model(images), labels)


class OnText(torch.nn.Module):
    """A language model and its loss."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, labels):
        return self.model(input_ids=ids, labels=labels, use_cache=False).loss


class Masked(OnText):
    """A language model without a cache."""

    def forward(self, ids, labels):
        return self.model(input_ids=ids, labels=labels).loss


def on_images(make, size=32):
    return lambda: (OnImages(make()), (torch.randn(4, 3, size, size), torch.randint(0, 10, (4,))))


def in_f64(make):
    """Chains of batch norms over a few numbers turn the rounding of f32 into visible differences."""

    def converted():
        module, arguments = make()
        return module.double(), tuple(x.double() if x.is_floating_point() else x for x in arguments)

    return converted


def on_text(kind, config, wrapper=OnText, **changes):
    def make():
        settings = dict(TEXT, **changes)
        model = kind(config(**{name: value for name, value in settings.items() if value is not None}))
        ids = torch.randint(4, 64, (2, 12))
        return wrapper(model), (ids, torch.randint(4, 64, (2, 12)))

    return make


def timm_model(name, size=32, **settings):
    return on_images(lambda: timm.create_model(name, pretrained=False, num_classes=10, **settings), size)


GROUPED = dict(num_key_value_heads=2)

MODELS = {
    # transformers
    "hf/gpt2": on_text(hf.GPT2LMHeadModel, hf.GPT2Config, n_embd=32, n_layer=2, n_head=4),
    "hf/llama": on_text(hf.LlamaForCausalLM, hf.LlamaConfig, **GROUPED),
    "hf/mistral": on_text(hf.MistralForCausalLM, hf.MistralConfig, sliding_window=8, **GROUPED),
    "hf/qwen2": on_text(hf.Qwen2ForCausalLM, hf.Qwen2Config, **GROUPED),
    "hf/gemma": on_text(hf.GemmaForCausalLM, hf.GemmaConfig, head_dim=8, **GROUPED),
    "hf/phi": on_text(hf.PhiForCausalLM, hf.PhiConfig),
    "hf/gpt_neox": on_text(hf.GPTNeoXForCausalLM, hf.GPTNeoXConfig),
    "hf/opt": on_text(hf.OPTForCausalLM, hf.OPTConfig, ffn_dim=64, word_embed_proj_dim=32, intermediate_size=None),
    "hf/bert": on_text(hf.BertForMaskedLM, hf.BertConfig, Masked),
    "hf/roberta": on_text(hf.RobertaForMaskedLM, hf.RobertaConfig, Masked),
    "hf/distilbert": on_text(hf.DistilBertForMaskedLM, hf.DistilBertConfig, Masked, dim=32, n_layers=2, n_heads=4, hidden_dim=64),
    "hf/albert": on_text(hf.AlbertForMaskedLM, hf.AlbertConfig, Masked, embedding_size=16),
    "hf/electra": on_text(hf.ElectraForMaskedLM, hf.ElectraConfig, Masked, embedding_size=16),
    "hf/t5": on_text(hf.T5ForConditionalGeneration, hf.T5Config, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                     decoder_start_token_id=0, pad_token_id=0),
    "hf/bart": on_text(hf.BartForConditionalGeneration, hf.BartConfig, d_model=32, encoder_layers=1, decoder_layers=1,
                       encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64),
    # torchvision
    "tv/resnet_basic": in_f64(on_images(lambda: ResNet(BasicBlock, [1, 1, 1, 1], num_classes=10))),
    "tv/resnet_bottleneck": in_f64(on_images(lambda: ResNet(Bottleneck, [1, 1, 1, 1], num_classes=10))),
    "tv/mobilenet_v2": in_f64(on_images(lambda: tv.mobilenet_v2(num_classes=10, width_mult=0.25))),
    "tv/squeezenet": on_images(lambda: tv.squeezenet1_1(num_classes=10), 64),
    "tv/shufflenet_v2": in_f64(on_images(lambda: tv.shufflenet_v2_x0_5(num_classes=10))),
    "tv/densenet": in_f64(on_images(lambda: tv.DenseNet(8, (2, 2, 2, 2), 16, num_classes=10))),
    "tv/vit": on_images(lambda: tv.VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=10)),
    "tv/swin": on_images(lambda: SwinTransformer([4, 4], 16, [1, 1], [2, 2], [4, 4], num_classes=10)),
    "tv/convnext": on_images(lambda: ConvNeXt([CNBlockConfig(16, 32, 1), CNBlockConfig(32, None, 1)], num_classes=10)),
    # timm
    "timm/resnet10t": in_f64(timm_model("resnet10t")),
    "timm/vit": timm_model("vit_tiny_patch16_224", 32, img_size=32, patch_size=8, depth=2, embed_dim=32, num_heads=4),
    "timm/convnext": timm_model("convnext_atto", depths=(1, 1, 1, 1), dims=(8, 16, 24, 32)),
    "timm/efficientnet": in_f64(timm_model("efficientnet_b0")),
    "timm/mobilenetv3": in_f64(timm_model("mobilenetv3_small_050")),
    "timm/regnet": in_f64(timm_model("regnetx_002")),
    "timm/mixer": timm_model("mixer_s32_224", 64, img_size=64),
    "timm/mobilevit": in_f64(timm_model("mobilevit_xxs", 64)),
}
