"""Every approver that ships keeps the contract."""

from geode.entrypoints.compliance import shipped
from geode.entrypoints.compliance.approval import ApproverContract


class TestApproveAll(ApproverContract):
    harness = shipped.ApproveAllHarness


class TestApproveNamed(ApproverContract):
    harness = shipped.ApproveNamedHarness


class TestAskAboutOthers(ApproverContract):
    harness = shipped.AskAboutOthersHarness


class TestAskEach(ApproverContract):
    harness = shipped.AskEachHarness


class TestInTurn(ApproverContract):
    harness = shipped.InTurnHarness
