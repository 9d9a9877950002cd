"""Tests of the table of roles."""

from collections import Counter

import pytest

from session.game_configuration import GameConfiguration, model_settings
from session.sections import SECTIONS, LLMSection, SamplingSection
from tests.llm.test_prompts import TEMPLATES
from zorkgpt.llm.roles import Role


@pytest.mark.parametrize("role", Role)
def test_settings_of_each_role_exist(role):
    for prefix in role.settings:
        assert {f"{prefix}_model", f"{prefix}_base_url"} <= LLMSection.model_fields.keys()
    assert issubclass(SECTIONS[role.sampling], SamplingSection)


def test_every_template_belongs_to_one_role():
    there = {path.name.removesuffix(".md.j2") for path in TEMPLATES}
    named = Counter(template for role in Role for template in role.templates)
    assert set(named) == there
    assert set(named.values()) == {1}


def test_role_equals_its_name():
    assert Role("critic") is Role.CRITIC
    assert (Role.CRITIC, f"{Role.CRITIC}") == ("critic", "critic")


def test_memory_role_defaults_to_the_extractors_model():
    config = GameConfiguration(
        agent_model="big", info_ext_model="small", info_ext_base_url="http://one/v1", memory_base_url="http://two/v1"
    )
    served = model_settings(config).of(Role.MEMORY)
    assert (served.model, served.base_url, served.temperature) == ("small", "http://two/v1", 0.3)


def test_role_without_a_model_uses_the_agents_with_its_own_sampling():
    config = GameConfiguration(agent_model="big", agent_base_url="http://one/v1", analysis_sampling={"top_k": 3})
    served = model_settings(config).of(Role.SUMMARY)
    assert (served.model, served.base_url, served.top_k) == ("big", "http://one/v1", 3)
