import { mount } from "svelte";
import App from "./App.svelte";
import "virtual:colours.css";
import "./style.css";
import { theme } from "./theme.svelte";
import { language } from "./words/index.svelte";

document.documentElement.lang = language();
theme.apply();
mount(App, { target: document.getElementById("app")! });
