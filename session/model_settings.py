"""From the configuration's tables to what the model boundary needs."""

from session.game_configuration import GameConfiguration
from session.sections import SamplingSection
from zorkgpt.llm.roles import Role
from zorkgpt.llm.settings import LLMSettings, Price, RoleSettings

_SAMPLING_FIELDS = ("temperature", "top_p", "top_k", "min_p", "max_tokens")


def model_settings(config: GameConfiguration) -> LLMSettings | None:
    """Which model serves which role; None if no model is named at all.

    A role whose model is not named is served by the agent's, and that by any that is.
    """
    llm = config.llm
    named = {
        "agent": (llm.agent_model, llm.agent_base_url, config.agent_sampling),
        "critic": (llm.critic_model, llm.critic_base_url, config.critic_sampling),
        "extractor": (llm.info_ext_model, llm.info_ext_base_url, config.extractor_sampling),
        "memory": (
            llm.memory_model or llm.info_ext_model,
            llm.memory_base_url or (None if llm.memory_model else llm.info_ext_base_url),
            config.memory_sampling,
        ),
        "objectives": (llm.analysis_model, llm.analysis_base_url, config.analysis_sampling),
        "knowledge": (llm.analysis_model, llm.analysis_base_url, config.analysis_sampling),
        "summary": (llm.analysis_model, llm.analysis_base_url, config.analysis_sampling),
    }
    fallback = next(((model, url) for model, url, _ in named.values() if model), None)
    if fallback is None:
        return None
    roles: dict[Role, RoleSettings] = {
        role: _role(model or fallback[0], url or (None if model else fallback[1]), sampling)
        for role, (model, url, sampling) in named.items()
    }
    return LLMSettings(
        roles=roles,
        base_url=llm.client_base_url,
        api_key=llm.client_api_key,
        timeout_s=llm.timeout_s,
        deadline_s=llm.deadline_s,
        max_failures=llm.max_failures,
        max_tokens=llm.max_tokens,
        max_cost=llm.max_cost,
        prices={model: Price(price.prompt, price.completion) for model, price in llm.prices.items()},
    )


def _role(model: str, base_url: str | None, sampling: SamplingSection) -> RoleSettings:
    return RoleSettings(model, base_url, **{name: getattr(sampling, name) for name in _SAMPLING_FIELDS})
