// How the page of a process tree looks, in light and in dark.
export const STYLE = `
:root { color-scheme: light dark; --line: #c9ced6; --soft: #5d6673; --back: #fff; --text: #16191d;
  --dot: #2f6fb5; --leak: #c62828; --tint: #fdeeee; }
@media (prefers-color-scheme: dark) { :root { --line: #3b424c; --soft: #9aa4b2; --back: #14171b;
  --text: #e8ebef; --dot: #5b9be0; --leak: #ff6b6b; --tint: #3a1c1e; } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem; background: var(--back); color: var(--text); }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: .95rem; margin: 1.5rem 0 .3rem; overflow-wrap: anywhere; }
a { color: inherit; } small { color: var(--soft); font-weight: normal; display: block; }
table { border-collapse: collapse; } th, td { text-align: left; padding: .25rem .6rem; vertical-align: top; }
tbody tr { border-top: 1px solid var(--line); } thead th { color: var(--soft); font-weight: 600; }
tr.leak { background: var(--tint); } tr:target, section:target h3 { outline: 2px solid var(--dot); }
.leak, tr.leak th { color: var(--leak); } .unknown { color: #b26a00; } .pid { color: var(--soft); }
.what { font-family: ui-monospace, monospace; font-size: .85em; overflow-wrap: anywhere; }
.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .4rem 1.6rem; color: var(--soft); }
.dot { display: inline-block; min-width: 1.5em; padding: 0 .35em; margin: 0 .1em; border-radius: 1em;
  background: var(--dot); color: var(--back); text-align: center; font-size: .85em; line-height: 1.7; border: 2px solid var(--dot); }
.dot.leak { background: var(--leak); border-color: var(--leak); color: var(--back); }
.dot.sealed { background: transparent; color: var(--dot); } .dot.leak.sealed { color: var(--leak); }
.scroll { overflow-x: auto; } .matrix td, .matrix thead th:not(.process) { text-align: center; border-left: 1px solid var(--line); }
.matrix .process { font-weight: 600; padding-left: calc(.6rem + var(--depth, 0) * 1.6rem); white-space: nowrap; display: flex; gap: .5rem; }
.matrix .branch { border-left: 2px solid var(--line); border-bottom: 2px solid var(--line); width: .7rem; height: .8rem; flex: none; }
`;
