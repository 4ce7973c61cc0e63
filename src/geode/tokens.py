"""Counting tokens, for `session(count_tokens=…)`."""

from geode.adapters.tokens_tiktoken import TiktokenCounter
from geode.domain.tokens import CountTokens, estimate_tokens

__all__ = ["CountTokens", "TiktokenCounter", "estimate_tokens"]
