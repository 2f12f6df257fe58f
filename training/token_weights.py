"""Makes `language/data/token_weights.json`: `python -m training.token_weights`.

For each family of tokenizers, the weights of a count of tokens, fitted by least squares on every
other passage of the sets below, read from RAGSTONE_EVAL_DATA, of the descriptions of installed
packages, and of Japanese sentences of our own. The benchmark `token_counts` measures on the rest,
and on sets that nothing may be learned from. Needs the extra `tokens`.
"""

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from splintr import Tokenizer

from benchmarks.common import eval_data
from ragstone.language.tokens import FEATURES, Family, features
from ragstone.plugins.evaluation import dataset
from training.reader.build import package_descriptions
from training.reader.harvested import read_rows

FAMILIES: tuple[Family, ...] = get_args(Family)
SETS = (
    "squad2_dev", "scifact", "cmrc2018_zh",
    "xquad/ar", "xquad/de", "xquad/el", "xquad/en", "xquad/es", "xquad/hi", "xquad/ro", "xquad/ru",
    "xquad/th", "xquad/tr", "xquad/vi", "xquad/zh",
)  # fmt: skip
MEASURED = ("cranfield", "financebench")
"""Sets whose licences allow no more than to measure."""

KOREAN = "klue_sts_ko"
TABLES = "tatqa_en"
PASSAGES = 200
DESCRIPTION_CHARS = 1_500
ENOUGH = 1_000
SELDOM = 3.0
"""Tokens of a letter of a script that the sets do not hold: as many as it has bytes."""

WEIGHTS = Path(__file__).parents[1] / "src/ragstone/language/data/token_weights.json"

JAPANESE = (
    "東京は日本の首都であり、世界で最も人口の多い都市圏の一つです。",
    "会議の資料は前日までに共有フォルダーへ保存してください。",
    "このアプリケーションは、ネットワークに接続しなくても動作します。",
    "休暇を申請する場合は、上司の承認を得てからフォームに記入します。",
    "新しいカメラのバッテリーは、一回の充電で約三百枚の写真を撮影できます。",
    "データベースをバックアップするには、次のコマンドを実行してください。",
    "契約書に署名する前に、法務部の確認を受けてください。",
    "電車は毎時十五分と四十五分に駅を出発します。",
    "このレシピでは、玉ねぎを薄く切ってから弱火で二十分炒めます。",
    "研究者たちは、新しい抗生物質が耐性菌に有効であることを発見した。",
    "パスワードを忘れた場合は、ログイン画面の下にあるリンクをクリックしてください。",
    "本製品の保証期間は、ご購入日から二年間です。",
    "江戸時代の町では、火事が多かったため、木造の家が何度も建て直された。",
    "サーバーの応答が遅いときは、キャッシュの設定を見直すとよいでしょう。",
    "祖母は毎朝早く起きて、庭の花に水をやっていた。",
    "経済成長率は前年同期比で二・四パーセント上昇した。",
    "川の水位が上がった場合、住民は避難所へ移動しなければならない。",
    "プリンターに紙が詰まったら、電源を切ってからカバーを開けてください。",
    "彼女は大学で生物学を学び、卒業後は製薬会社に就職した。",
    "この条例は、公共の場所での喫煙を禁止するものである。",
    "地震の揺れを感じたら、まず机の下に入って頭を守りましょう。",
    "注文の確認メールが届かない場合は、迷惑メールフォルダーをご確認ください。",
    "月の重力は地球のおよそ六分の一なので、体が軽く感じられる。",
    "監督は試合後の記者会見で、若い選手たちの努力を高く評価した。",
)
JAPANESE_MEASURED = (
    "図書館の本は、二週間まで無料で借りることができます。",
    "彼は幼いころから音楽に親しみ、十歳でピアノのコンクールに優勝した。",
    "ファイルを削除すると元に戻せないので、ご注意ください。",
    "北海道の冬は長く、雪が一メートル以上積もることも珍しくない。",
    "請求書の支払期限は、発行日から三十日以内とします。",
    "この薬は食後に水と一緒に飲んでください。",
    "議会は来年度の予算案を賛成多数で可決した。",
    "更新プログラムをインストールした後、パソコンを再起動してください。",
    "海底の火山活動によって、新しい島が生まれることがある。",
    "お客様のご意見は、今後のサービス改善に役立てさせていただきます。",
    "工場では、一日に約五千個の部品が組み立てられている。",
    "犬は嗅覚が鋭く、人間には分からない匂いを嗅ぎ分ける。",
)


def read_passages(sets: Sequence[str]) -> dict[str, list[str]]:
    """Read some texts of each set."""
    return {
        name: [item.text for item in dataset.spread(dataset.corpus(eval_data() / name), PASSAGES)]
        for name in sets
    }


def passages() -> dict[str, list[str]]:
    """Return texts by their set: every other one is learned from."""
    texts = read_passages(SETS)
    pairs = dataset.read_rows(eval_data() / KOREAN / "dev/pairs.jsonl.gz")
    said = [f"{pair['a']} {pair['b']}" for pair in pairs]
    texts[KOREAN] = [" ".join(said[i : i + 6]) for i in range(0, 6 * PASSAGES, 6)]
    rows = read_rows(eval_data() / f"train/{TABLES}.jsonl.xz", held=False)
    texts[TABLES] = list(islice(dict.fromkeys(str(row["passage"]) for row in rows), PASSAGES))
    texts["packages"] = [
        text[:DESCRIPTION_CHARS]
        for _, text in package_descriptions()
        if len(text) >= DESCRIPTION_CHARS
    ]
    # Learnt on some sentences, measured on others.
    turns = zip(_four(JAPANESE), _four(JAPANESE_MEASURED) * 2, strict=True)
    texts["japanese"] = [text for both in turns for text in both]
    return texts


def _four(sentences: tuple[str, ...]) -> list[str]:
    """Return passages of four sentences, each sentence in four of them."""
    return ["".join((sentences * 2)[i : i + 4]) for i in range(len(sentences))]


def fit_weights(texts: list[str], family: Family) -> dict[str, float]:
    """Return the weights for which the counts' relative errors are least."""
    encode = Tokenizer.from_pretrained(family).encode
    tokens = np.array([len(encode(text)) for text in texts], float)
    made = [features(text) for text in texts]
    table = np.array([[item.get(name, 0) for name in FEATURES] for item in made], float)
    weights = nonnegative(table / tokens[:, None], np.ones(len(texts)))
    found = dict(zip(FEATURES, map(float, weights), strict=True))
    if table[:, FEATURES.index("letters")].sum() < ENOUGH:
        found["letters"] = SELDOM
    return {name: round(weight, 4) for name, weight in found.items()}


def nonnegative(table: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solve least squares without the features whose weight would be negative."""
    used = np.ones(table.shape[1], bool)
    while True:
        weights = np.zeros(table.shape[1])
        weights[used] = np.linalg.lstsq(table[:, used], wanted, rcond=None)[0]
        if (weights >= 0).all():
            return weights
        used &= weights > 0


if __name__ == "__main__":
    learnt = [text for texts in passages().values() for text in texts[::2] if text.strip()]
    lines = [f'"{family}": {json.dumps(fit_weights(learnt, family))}' for family in FAMILIES]
    WEIGHTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
