"""derive_action_signing, the venue's signing library for v2: actions and headers, nothing else.

``coincurve`` is installed with it, which its own requirements leave out: without it each signature takes about eight times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benches.peers.driver import Offers

NAME = "derive_action_signing"
VERSION = "0.0.13"
DIALECT = "v2"
REQUIREMENTS = ("derive_action_signing==0.0.13", "coincurve==21.0.0", "web3==7.16.0", "eth-account==0.14.0", "eth-abi==6.0.0")
PACKAGES = ("derive_action_signing", "coincurve", "web3", "eth-account", "eth-abi", "eth-keys")
ABOUT = "the venue's signing library for v2, with coincurve, which its own requirements leave out"
LACKS = dict.fromkeys(("decode", "domain", "dispatch", "exec"), "it signs, no more")

DOMAIN_SEPARATOR = "0xd96e5f90797da7ec8dc4e276260c7f3f87fedf68775fbe1ef116e996fc60441b"
ACTION_TYPEHASH = "0x4d7a9f27c403ff9c0f19bce61d76d82f9aa29f8d6d4b0c5474607d9770d1af17"
TRADE_MODULE = "0xB8D20c2B7a1Ad2EE33Bc50eF10876eD3035b5e7b"

Raw = dict[str, Any]


def offer(can: Offers, material: Raw) -> None:
    from decimal import Decimal

    from derive_action_signing import SignedAction, TradeModuleData, sign_rest_auth_header
    from web3 import Web3

    account, web3 = material["account"], Web3()
    max_fee = Decimal(account["max_fee"])

    def sign(order: tuple[Decimal, Decimal, bool, int]) -> str:
        price, amount, is_bid, nonce = order
        action = SignedAction(
            subaccount_id=account["subaccount_id"],
            owner=account["wallet"],
            signer=account["signer"],
            signature_expiry_sec=account["expiry_sec"],
            nonce=nonce,
            module_address=TRADE_MODULE,
            module_data=TradeModuleData(
                asset_address=account["asset"],
                sub_id=int(account["sub_id"]),
                limit_price=price,
                amount=amount,
                max_fee=max_fee,
                recipient_id=account["subaccount_id"],
                is_bid=is_bid,
            ),
            DOMAIN_SEPARATOR=DOMAIN_SEPARATOR,
            ACTION_TYPEHASH=ACTION_TYPEHASH,
        )
        signature: str = action.sign(account["key"])
        return signature

    can(
        "sign/trade_action",
        sign,
        prepare=lambda raw: (Decimal(raw["price"]), Decimal(raw["amount"]), raw["side"] == "buy", raw["nonce"]),
        facts=lambda signature: {"signature": signature},
        undone="signature without 0x; ranges and decimal places unchecked",
    )

    def headers(result: Raw) -> Raw:
        names = ("X-LYRAWALLET", "X-LYRATIMESTAMP", "X-LYRASIGNATURE")
        return dict(zip(("wallet", "timestamp", "signature"), (result[name] for name in names), strict=True))

    can(
        "auth/rest_headers",
        lambda _: sign_rest_auth_header(web3, account["wallet"], account["key"]),
        facts=headers,
        undone="",
    )
