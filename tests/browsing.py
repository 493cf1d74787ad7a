"""What tests in a browser share: how it is started, what is watched, rules of access and contrast."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
WATCH = """window.breaches = [];
document.addEventListener('securitypolicyviolation',
  (event) => window.breaches.push(event.violatedDirective));"""
ACCESS = """() => {
  const found = [];
  const name = (element) => (element.getAttribute('aria-label') || element.textContent
    || [...(element.labels ?? [])].map((label) => label.textContent).join(' ')).trim();
  const short = (element) => element.outerHTML.slice(0, 80);
  const named = 'button, input, select, textarea, a, summary, [role=img], [role=region]';
  for (const element of document.querySelectorAll(named))
    if (!name(element) && !(element.labels ?? []).length) found.push(`no name: ${short(element)}`);
  for (const element of document.querySelectorAll('input, select, textarea'))
    if (!element.getAttribute('aria-label') && ![...element.labels].some((label) => label.textContent.trim()))
      found.push(`no label: ${short(element)}`);
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  if (new Set(ids).size !== ids.length) found.push('an id twice');
  if (document.querySelectorAll('main').length !== 1) found.push('main');
  if (!document.querySelector('nav[aria-label]')) found.push('nav');
  if (document.querySelector('[tabindex]:not([tabindex="0"]):not([tabindex="-1"])')) found.push('tabindex');
  let level = 0;
  for (const heading of document.querySelectorAll('h1, h2, h3, h4')) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) found.push(`heading ${heading.textContent}`);
    level = next;
  }
  for (const table of document.querySelectorAll('table'))
    if (!table.caption || table.querySelector('th:not([scope=col])')) found.push('table');
  if (document.scrollingElement.scrollWidth > innerWidth) found.push('wider than the screen');
  return found;
}"""
CONTRAST = """() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([red, green, blue]) => [red, green, blue].map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = parts(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    if (element.closest(':disabled, svg')) continue;
    const [one, two] = [light(parts(getComputedStyle(element).color)), light(ground(element))];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${element.tagName} ${element.textContent.slice(0, 30)}`);
  }
  return found;
}"""


@contextmanager
def chromium(path: str | None) -> Iterator[Any]:
    """A running Chromium; playwright is imported on use, so that its absence skips tests and no more."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        found = player.chromium.launch(executable_path=path, args=FLAGS)
        yield found
        found.close()


@contextmanager
def watching(browser: Any, port: int, *schemes: str) -> Iterator[Callable[..., Any]]:
    """Opens pages of the server on this port; at the end nothing may have gone wrong on any of them.

    Requests may go to the server, and to addresses that begin with one of `schemes`. Problems that hold a
    text of the opener's list `allowed` are forgiven.
    """
    problems: list[str] = []
    allowed: list[str] = []
    contexts, pages = [], []
    homes = (f"http://127.0.0.1:{port}/", *schemes)

    def listen(page: Any) -> None:
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"script: {error}"))
        page.on(
            "request", lambda request: None if request.url.startswith(homes) else problems.append(request.url)
        )

    def opening(path: str, lang: str = "en-US", theme: str = "light", width: int = 1280) -> Any:
        context = browser.new_context(
            locale=lang, color_scheme=theme, viewport={"width": width, "height": 900}
        )
        context.add_init_script(WATCH)
        page = context.new_page()
        listen(page)
        contexts.append(context)
        pages.append(page)
        page.goto(homes[0] + path)
        return page

    opening.allowed = allowed
    yield opening
    breaches = [breach for page in pages for breach in page.evaluate("window.breaches")]
    hits = [page.evaluate("window.hit ?? null") for page in pages]
    for context in contexts:
        context.close()
    assert not breaches
    assert set(hits) <= {None}
    assert not [text for text in problems if not any(part in text for part in allowed)]
