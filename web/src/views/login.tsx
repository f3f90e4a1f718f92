// SPDX-License-Identifier: Apache-2.0
// login.tsx - prompts for the token when the server requires one.
import { useState } from "preact/hooks";

import { api } from "../api";
import { Button, Card, Field } from "../components/basics";
import { ErrorBox } from "../components/empty";
import { needLogin } from "../live";

export function LoginView() {
  const [token, setToken] = useState("");
  const [error, setError] = useState<string | null>(null);
  const submit = async (): Promise<void> => {
    try {
      await api.login(token.trim());
      needLogin.value = false;
    } catch (e) {
      setError(e instanceof Error ? e.message : String(e));
    }
  };
  return (
    <div class="login">
      <h1>Log in</h1>
      <Card>
        <form
          onSubmit={(e) => {
            e.preventDefault();
            void submit();
          }}
        >
          <p class="quiet">This server requires an access token. It was set when the server was started, in its token file or in FOOTPLATE_TOKEN.</p>
          <Field label="Access token">
            {(id) => (
              <input
                id={id}
                type="password"
                autocomplete="current-password"
                required
                value={token}
                onInput={(e) => setToken(e.currentTarget.value)}
              />
            )}
          </Field>
          {error !== null && <ErrorBox error={error} />}
          <Button kind="primary" type="submit" onClick={() => undefined}>
            Log in
          </Button>
        </form>
      </Card>
    </div>
  );
}
