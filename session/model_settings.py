"""The settings of the model client, from the tables of the configuration."""

from session.game_configuration import GameConfiguration
from session.sections import LLMSection
from zorkgpt.llm.roles import Role
from zorkgpt.llm.settings import LLMSettings, Price, RoleSettings


def model_settings(config: GameConfiguration) -> LLMSettings | None:
    """Return which model serves which role; None if no model is named at all.

    A role whose model is not named is served by the first one that is, beginning with the agent's.
    """
    llm = config.llm
    named = {role: _model_of(role, llm) for role in Role}
    default = next((each for each in named.values() if each[0]), None)
    if default is None:
        return None
    return LLMSettings(
        roles={role: _role_settings(config, role, named[role], default) for role in Role},
        base_url=llm.client_base_url,
        api_key=llm.client_api_key,
        timeout_s=llm.timeout_s,
        deadline_s=llm.deadline_s,
        max_failures=llm.max_failures,
        max_tokens=llm.max_tokens,
        max_cost=llm.max_cost,
        prices={model: Price(price.prompt, price.completion) for model, price in llm.prices.items()},
    )


def _model_of(role: Role, llm: LLMSection) -> tuple[str | None, str | None]:
    """Return the model and the base URL that are configured for a role."""
    base_url = None
    for prefix in role.settings:
        base_url = base_url or getattr(llm, f"{prefix}_base_url")
        if model := getattr(llm, f"{prefix}_model"):
            return model, base_url
    return None, base_url


def _role_settings(
    config: GameConfiguration, role: Role, named: tuple[str | None, str | None], default: tuple[str | None, str | None]
) -> RoleSettings:
    model, base_url = named
    sampling = config.sampling(role)
    return RoleSettings(
        model=model or default[0] or "",
        base_url=base_url or (None if model else default[1]),
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        min_p=sampling.min_p,
        max_tokens=sampling.max_tokens,
    )
