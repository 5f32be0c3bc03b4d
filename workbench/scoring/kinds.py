"""The scorers: a new one is a module of its own and a line here; its options, their texts and its checks are its class's."""

from workbench.scoring.answer_line import AnswerLine
from workbench.scoring.choice import Choice
from workbench.scoring.choices import Choices
from workbench.scoring.custom import Custom
from workbench.scoring.exact import Exact
from workbench.scoring.f1 import F1
from workbench.scoring.includes import Includes
from workbench.scoring.json_fields import JsonFields
from workbench.scoring.json_schema import JsonSchema
from workbench.scoring.judge import Judge
from workbench.scoring.latency import Latency
from workbench.scoring.length import Length
from workbench.scoring.match import Match
from workbench.scoring.numeric import Numeric
from workbench.scoring.pattern import Pattern
from workbench.scoring.served_model import ServedModel
from workbench.scoring.tokens import Tokens
from workbench.scoring.tool_call import CalledTool
from workbench.scoring.tool_calls import CalledTools

Kind = (
    Exact | Includes | Match | AnswerLine | Pattern | Numeric | Choice | Choices | F1 | JsonFields | JsonSchema | CalledTool
    | CalledTools | Latency | Length | Tokens | ServedModel | Custom | Judge
)  # fmt: skip
