"""The document as a table: each statement that can be tried, in our words, with the test that tries it."""

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.contract import test_account_page as pane
from tests.contract import test_document_endpoints as endpoints
from tests.contract import test_document_resources as resources
from tests.contract import test_openai_sdk as sdk
from tests.contract import test_people_first as people
from tests.contract import test_upstream as upstream


class Statement(NamedTuple):
    """One row."""

    says: str
    shown_by: Callable[..., Any]


DOCUMENT: dict[str, list[Statement]] = {
    "What the service does": [
        Statement("a personal key calls it from code, the OpenAI-compatible way", sdk.test_a_completion),
        Statement("the base URL ends in /api", endpoints.test_the_path_carries_no_version_segment),
        Statement("it lists the models that the account sees", resources.test_model_visibility_is_per_account),
        Statement("it completes chats, streamed", sdk.test_a_streamed_completion),
        Statement("and not streamed", resources.test_response_carries_choices_model_and_usage),
        Statement("every call is drawn from one allowance of the account", endpoints.test_limits_one_allowance_per_account_drawn_by_every_call),
        Statement("text goes in and text comes out", endpoints.test_the_api_is_text_in_text_out_without_uploads_or_knowledge),
        Statement("uploads, knowledge and notebooks are out of its reach", endpoints.test_the_api_is_text_in_text_out_without_uploads_or_knowledge),
        Statement("the gateway is not public: /api is all there is", endpoints.test_nothing_but_the_api_is_public),
        Statement("a preset answers a plain call", resources.test_preset_returns_a_completion_and_runs_no_tool),
        Statement("and runs none of its server-side tools", resources.test_preset_returns_a_completion_and_runs_no_tool),
        Statement("a caller may bring tools of its own", resources.test_preset_a_caller_can_bring_its_own_tools),
    ],
    "API key": [
        Statement("the secret begins with sk-", resources.test_api_key_a_secret_begins_with_sk),
        Statement("it is created outside the API, and shown then", resources.test_api_key_is_shown_once_can_be_regenerated_or_deleted),
        Statement("it can be regenerated", resources.test_api_key_is_shown_once_can_be_regenerated_or_deleted),
        Statement("and deleted", resources.test_api_key_is_shown_once_can_be_regenerated_or_deleted),
        Statement("in a pane of the account, which shows it for copying", pane.test_a_key_is_made_used_regenerated_and_deleted),
        Statement("it does not expire", resources.test_api_key_has_no_expiry),
        Statement("it belongs to one account", resources.test_api_key_acts_with_its_accounts_permissions),
        Statement("and may do what that account may", resources.test_api_key_acts_with_its_accounts_permissions),
    ],
    "Model": [
        Statement("the listed id is what a request names", resources.test_model_visibility_is_per_account),
        Statement("ids may have spaces and brackets", resources.test_model_ids_contain_spaces_and_brackets),
        Statement("some are routes to model servers", upstream.test_another_platform_as_model_server_and_its_fallback_when_it_dies),
        Statement("and some are presets", resources.test_preset_returns_a_completion_and_runs_no_tool),
        Statement("the list is exactly what the account sees", resources.test_model_visibility_is_per_account),
        Statement("tools are a property of the route", resources.test_model_tool_capability_is_per_route),
        Statement("a route has it if a forced tool is really called", resources.test_model_tool_capability_is_per_route),
        Statement("routes that only reason or prove answer in prose", resources.test_model_tool_capability_is_per_route),
    ],
    "Chat completion request": [
        Statement("model is required", endpoints.test_model_is_required_and_has_to_be_visible),
        Statement("and visible to the account", resources.test_api_key_acts_with_its_accounts_permissions),
        Statement("messages is required", resources.test_a_request_is_refused_where_the_document_asks_for_more),
        Statement("and a list", resources.test_a_request_is_refused_where_the_document_asks_for_more),
        Statement("of objects with role and content", resources.test_request_messages_are_objects_with_role_and_content),
        Statement("fields are of the types that it names", endpoints.test_a_field_of_another_type_is_named),
        Statement("max_tokens caps what is generated", resources.test_request_max_tokens_caps_generated_tokens),
        Statement("a tool call too", resources.test_request_max_tokens_caps_a_tool_call_too),
        Statement("stream: true streams", resources.test_request_stream_true_streams_and_false_returns_one_body),
        Statement("stream: false gives one body", resources.test_request_stream_true_streams_and_false_returns_one_body),
        Statement("tools are functions with name and parameters", sdk.test_tool_calls),
        Statement("tool_choice forces one of them", endpoints.test_rule_3_a_forced_call_carries_tool_calls_streamed_too),
        Statement("which the request supplies", resources.test_a_request_is_refused_where_the_document_asks_for_more),
        Statement("tool_ids runs nothing without a stream", resources.test_request_tool_ids_execute_nothing),
        Statement("other fields pass", resources.test_request_extra_fields_reach_the_model),
        Statement("as the SDK sends them", sdk.test_extra_body_reaches_the_model),
        Statement("a route may have defaults for chat_template_kwargs", resources.test_request_one_route_defaults_chat_template_kwargs_and_callers_override_it),
        Statement("which a caller overrides", resources.test_request_one_route_defaults_chat_template_kwargs_and_callers_override_it),
    ],
    "Chat completion response": [
        Statement("the text is in choices[0].message.content", resources.test_response_carries_choices_model_and_usage),
        Statement("tool calls are in choices[0].message.tool_calls", resources.test_model_tool_capability_is_per_route),
        Statement("thinking is in reasoning_content, where a route has it", resources.test_response_reasoning_content_is_present_on_routes_that_think),
        Statement("model names the route that served", endpoints.test_rule_4_a_fallback_may_answer_and_model_says_which_route_did),
        Statement("usage counts prompt and completion tokens", resources.test_response_carries_choices_model_and_usage),
    ],
    "Endpoints": [
        Statement("GET /api/models is 200 with entries that have an id", endpoints.test_get_models_is_200_with_entries_that_carry_an_id),
        Statement("POST /api/chat/completions takes JSON, by its header", endpoints.test_content_type_is_required),
        Statement("and is 200 with one body or a stream", resources.test_request_stream_true_streams_and_false_returns_one_body),
        Statement("rule 1: both want Authorization", endpoints.test_rule_1_both_endpoints_require_authorization),
        Statement("rule 2: tools reach the model unchanged", resources.test_request_tools_reach_the_model_unchanged),
        Statement("and switch server-side tools off", endpoints.test_rule_2_tools_are_passed_and_server_side_resolution_is_skipped),
        Statement("rule 3: a forced function is called", endpoints.test_rule_3_a_forced_call_carries_tool_calls_streamed_too),
        Statement("rule 4: a fallback may answer", endpoints.test_rule_4_a_fallback_may_answer_and_model_says_which_route_did),
        Statement("model says so, and tool calls do not", endpoints.test_rule_4_a_fallback_that_loses_the_tools_answers_in_prose),
        Statement("rule 5: no endpoint makes keys", endpoints.test_no_endpoint_creates_keys),
    ],
    "Authentication": [
        Statement("a Bearer token in Authorization", endpoints.test_authentication_a_key_reaches_every_endpoint_and_bearer_may_be_small),
        Statement("every account may have keys", resources.test_api_key_acts_with_its_accounts_permissions),
        Statement("a key reaches every endpoint", endpoints.test_authentication_a_key_reaches_every_endpoint_and_bearer_may_be_small),
        Statement("no expiry", resources.test_api_key_has_no_expiry),
        Statement("browser sessions end after four weeks", pane.test_what_has_expired_is_nothing),
        Statement("revoked by deletion or regeneration", resources.test_api_key_is_shown_once_can_be_regenerated_or_deleted),
        Statement("a key that is not valid is 401", endpoints.test_rule_1_both_endpoints_require_authorization),
        Statement("lists and usable models are those of the owner", resources.test_api_key_acts_with_its_accounts_permissions),
    ],
    "Errors": [
        Statement("a route without its secret is 401", endpoints.test_errors_a_missing_secret_is_401_for_that_route_while_others_work),
        Statement("while other routes work", upstream.test_a_secret_that_is_not_set_is_401_for_that_route_only),
        Statement("a model server that is down says 502", endpoints.test_errors_a_backend_that_is_down),
        Statement("or 530", endpoints.test_errors_a_backend_that_answers_530),
        Statement("tools at a route that only reasons give prose", resources.test_model_tool_capability_is_per_route),
        Statement("a preset's tools are not run, without an error", resources.test_preset_returns_a_completion_and_runs_no_tool),
    ],
    "Limits": [
        Statement("64 requests in flight, platform-wide", endpoints.test_limits_64_requests_in_flight_platform_wide),
        Statement("120 s a request", endpoints.test_limits_120_seconds_per_request_and_300_for_one_route),
        Statement("streamed ones too", endpoints.test_limits_the_time_limit_holds_for_a_whole_stream),
        Statement("300 s for one route", endpoints.test_limits_one_route_of_the_catalogue_has_300_seconds),
        Statement("2 automatic retries", endpoints.test_limits_two_automatic_retries),
        Statement("no rate limit per user", endpoints.test_limits_no_rate_limit_per_user),
        Statement("whose use the account can see", people.test_an_account_sees_its_own_usage_and_no_other_s),
        Statement("one allowance for the API and the chat UI", endpoints.test_limits_one_allowance_per_account_drawn_by_every_call),
    ],
    "Versioning": [Statement("the path has no version", endpoints.test_the_path_carries_no_version_segment)],
}  # fmt: skip
"""By section. What the document calls "not shown" is in `silent.py` and its tests."""
BEYOND = {
    "test_another_method_is_refused_with_those_that_are_allowed",
    "test_a_caller_that_leaves_frees_its_slot_and_its_draw_stays_open",
    "test_messages_may_be_parts_and_an_answer_of_tool_calls_has_no_content",
}
"""Tests of the same modules that go beyond the document."""


def test_every_statement_stands_once_and_every_test_of_the_document_in_a_row() -> None:
    rows = [(section, row.says) for section, table in DOCUMENT.items() for row in table]
    assert len(rows) >= 65
    assert [row for row, times in Counter(rows).items() if times > 1] == []
    used = {row.shown_by.__name__ for table in DOCUMENT.values() for row in table}
    made = {name for module in (endpoints, resources) for name in vars(module) if name.startswith("test_")}
    assert made - used == BEYOND
