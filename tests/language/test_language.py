"""Telling languages apart."""

import subprocess
import sys
import time

import pytest

from ragstone.language.language import detect


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is the revenue of Adobe?", "en"),
        ("Employees get 30 days of leave per year.", "en"),
        ("Wie viele Urlaubstage habe ich?", "de"),
        ("Quel est le chiffre d'affaires de la société ?", "fr"),
        ("¿Cuál es la capital de España?", "es"),
        ("Hoeveel vakantiedagen heb ik?", "nl"),
        ("Zwrot kosztów podróży służbowej", "pl"),
        ("北京是中国的首都", "zh"),
        ("東京は日本の首都です。", "ja"),
        ("서울은 한국의 수도이다", "ko"),
        ("สวัสดีครับ ยินดีต้อนรับ", "th"),
        ("مرحبا كيف حالك", "ar"),
        ("سلام، چگونه می‌توانم کمک کنم؟", "fa"),
        ("שלום לכם", "he"),
        ("Καλημέρα σας", "el"),
        ("नमस्ते आप कैसे हैं", "hi"),
        ("Какие документы нужны?", "ru"),
        ("Які документи потрібні для відпустки?", "uk"),
    ],
)
def test_given_a_short_text_when_detected_then_its_language_is_found(
    text: str, language: str
) -> None:
    assert detect(text) == language


@pytest.mark.parametrize("text", ["", "   ", "1234 56", "Leave", "—", "x y"])
def test_given_too_little_text_when_detected_then_the_answer_is_empty(text: str) -> None:
    assert detect(text) == ""


def test_given_japanese_with_many_chinese_characters_when_detected_then_kana_decide() -> None:
    assert detect("日本国憲法第九条の規定に基づく自衛隊法施行令") == "ja"


def test_given_one_foreign_word_when_detected_then_the_rest_decides() -> None:
    assert detect("The Greek letter Ω is used for the resistance of a conductor.") == "en"


@pytest.mark.parametrize("sentence", ["Der Umsatz stieg um zehn Prozent. ", "Привет, как дела? "])
def test_given_a_thousand_characters_when_detected_then_it_takes_about_a_millisecond(
    sentence: str,
) -> None:
    text = (sentence * 60)[:1000]
    detect(text)
    times = []
    for _ in range(20):
        started = time.process_time()
        detect(text)
        times.append(time.process_time() - started)
    assert min(times) < 0.002


def test_given_only_the_import_when_done_then_the_model_is_not_loaded() -> None:
    code = "import sys, ragstone.language.language; sys.exit('py3langid' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Was ist Git?", "de"),
        ("Wer haftet?", "de"),
        ("Qui paie ?", "fr"),
        ("Qué es Docker", "es"),
        ("O que é isso?", "pt"),
        ("who pays", "en"),
        ("MIT license", ""),
        ("Jest 29 config", ""),
    ],
)
def test_given_a_short_question_then_its_small_words_tell_the_language(
    text: str, language: str
) -> None:
    assert detect(text) == language
