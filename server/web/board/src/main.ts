import { mount } from "svelte";
import App from "./App.svelte";
import "virtual:colours.css";
import "./style.css";
import { componentOf, page } from "./pages.svelte";
import { theme } from "./theme.svelte";
import { loadWords } from "./words/index.svelte";

theme.apply();
componentOf(page()).catch(() => undefined); // it is loaded beside the words; the application says if that fails
await loadWords();
mount(App, { target: document.getElementById("app")! });
