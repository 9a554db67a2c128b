"""A server over HTTP that lets in only those who signed in: `guarded.py http [SECONDS]`, how long a token is good.
It is its own authorization server, at which everybody is signed in as soon as they go there."""

import json
import secrets
import socket
import sys
import time
from typing import Any, cast

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

from tests.mcp_client.everything import serve

SECONDS = int(sys.argv[2]) if len(sys.argv) > 2 else 3600


class Everybody:
    """Lets everybody in, and remembers what it gave out."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.refreshes: dict[str, RefreshToken] = {}
        self.log: list[str] = []

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.log.append("register")
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self.log.append("authorize")
        code = secrets.token_urlsafe(20)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client: Any, authorization_code: str) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: AuthorizationCode) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._token(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> RefreshToken | None:
        return self.refreshes.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: RefreshToken, scopes: list[str]) -> OAuthToken:
        self.log.append("refresh")
        return self._token(client.client_id, scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        found = self.tokens.get(token)
        return found if found is not None and (found.expires_at or 0) > time.time() else None

    async def revoke_token(self, token: Any) -> None:
        self.tokens.pop(token.token, None)

    def _token(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        access, refresh = secrets.token_urlsafe(20), secrets.token_urlsafe(20)
        until = int(time.time()) + SECONDS
        self.tokens[access] = AccessToken(
            token=access, client_id=client_id, scopes=scopes, expires_at=until, resource=resource
        )
        self.refreshes[refresh] = RefreshToken(token=refresh, client_id=client_id, scopes=scopes, resource=resource)
        return OAuthToken(
            access_token=access, expires_in=SECONDS, refresh_token=refresh, scope=" ".join(scopes) or None
        )


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", 0))
    here = f"http://127.0.0.1:{listening.getsockname()[1]}"
    everybody = Everybody()
    server = MCPServer(
        "guarded",
        log_level="CRITICAL",
        auth_server_provider=cast("Any", everybody),
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(here),
            resource_server_url=AnyHttpUrl(f"{here}/mcp"),
            client_registration_options=ClientRegistrationOptions(enabled=True),
            validate_token_resource=True,
        ),
    )

    @server.tool()
    def log() -> str:
        return json.dumps(everybody.log)

    serve(server.streamable_http_app(), listening)
