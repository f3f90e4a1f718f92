// SPDX-License-Identifier: Apache-2.0
// main.tsx - where the page starts.
import { render } from "preact";

import { App } from "./app";
import { keepFocus } from "./focus";
import { startRouting } from "./state";
import { startTheme } from "./theme";
import "./parts.css";
import "./theme.css";

startTheme();
startRouting();
keepFocus();
const place = document.getElementById("app");
if (place !== null) render(<App />, place);
