# The page of gputrace report --html in Chromium: that it draws, says nothing on the console, asks for nothing, does what a
# keyboard asks, and can be read in light and dark. report_html.bats has what it says.

load common

data=$root/tests/data

before_each() {
    browser=$(command -v chromium || command -v google-chrome) || skip "there is no Chromium here: apt install chromium"
}

# drawn(THEN): calls THEN once the page has read its data and each chart that can be seen is drawn. It asks every 10 ms of the
# time that browse() grants, which passes faster than real time: the browser's own work on frames takes many of them.
drawn='function drawn(then) {
  const waits = [...document.querySelectorAll("main div")].some((box) => box.clientWidth > 0 && !box.attributes.length && !box.firstChild);
  if (document.readyState === "complete" && !waits) then();
  else setTimeout(() => drawn(then), 10);
}'

# browse FILE [WIDTH]: writes the page as it is once it is drawn, dom.html, and what was said on the console, console. The
# page's policy forbids all requests, and one that it stops is said there.
browse() {
    local file=shown-$1 width=${2-1280}
    { cat "$1" && echo "<script>$drawn drawn(() => {})</script>"; } >"$file"
    HOME=$PWD timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$PWD/browser" \
        --disable-background-networking --disable-component-update --no-first-run \
        --window-size="$width",900 --virtual-time-budget=86400000 --enable-logging=stderr \
        --dump-dom "file://$PWD/$file" >dom.html 2>log
    grep -E ':CONSOLE|Refused to|Uncaught' log >console || true
}

# probe FILE: FILE with the script of stdin after the page's own, which writes its answer to the title; the answer
probe() {
    local name=probe-$1
    { sed '/^<\/body>$/,$d' "$1" && echo "<script>$drawn" && cat && echo '</script></body></html>'; } >"$name"
    browse "$name"
    sed -n 's|.*<title>\(.*\)</title>.*|\1|p' dom.html | head -1 | sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g'
}

page() { "$gputrace" report --html page.html "$@"; }

x() {
    printf '{"ph":"X","cat":"%s","name":"%s","pid":%s,"tid":%s,"ts":%s,"dur":%s,"args":{%s}}\n' "$1" "${2//\"/\\\"}" "$3" "$4" "$5" "$6" "${7-}"
}
trace() { paste -sd, | sed 's/^/{"traceEvents":[/; s/$/]}/' >trace.json; }

# Launches that the GPU waits for, in ranges, a copy, and memory in use.
write_trace() {
    {
        for i in $(seq 1 300); do
            x cuda_runtime cudaLaunchKernel 1 7 $((i * 60)) 5 "\"correlation\":$i"
            x kernel "kernel<$((i % 30)), a very long name of a template argument that nobody can read in a table>" 0 1 $((i * 60 + 8)) 4 "\"device\":0,\"stream\":1,\"correlation\":$i"
        done
        x gpu_memcpy "Memcpy HtoD (Pageable -> Device)" 0 2 18000 900 '"device":0,"stream":2,"bytes":1000'
        x user_annotation "outer range" 1 7 0 20000
        x user_annotation "inner range" 1 7 100 9000
        for i in $(seq 1 40); do
            echo "{\"ph\":\"C\",\"name\":\"Memory in use: Device\",\"pid\":0,\"ts\":$((i * 400)),\"args\":{\"bytes\":$((i * 1000))}}"
        done
    } | trace
}

@test "the page is drawn, with nothing on the console, and asks for nothing but itself" {
    write_trace
    page trace.json
    for width in 1280 420; do
        browse page.html "$width"
        diff /dev/null console
        for part in findings overview use idle kernels flame api memtime memory streams; do
            grep -q "<section id=\"t0-$part\"" dom.html || fail "no section $part at $width"
        done
        [ "$(grep -o '<table>' dom.html | wc -l)" -ge 10 ]
        grep -q '<rect class="kind-kernel"' dom.html
        grep -q '<path class="level"' dom.html
        grep -q '<path class="use0"' dom.html
    done
    sed '/<script/,/<.script>/d' dom.html >shown
    ! grep -qE 'undefined|NaN|\[object' shown
    probe page.html <<'END' >answer
drawn(() => { document.title = `${performance.getEntriesByType("resource").length} requests`; });
END
    diff - answer <<<'0 requests'
}

@test "real traces are drawn without a word on the console" {
    page "$data/kineto/kineto-train-h200.json.gz" "$data/report/small.json" "$data/report/memory.json" "$data/report/errors.json"
    browse page.html
    diff /dev/null console
    [ "$(grep -o '<article' dom.html | wc -l)" -eq 4 ]
}

@test "chapters come as on the first screen: headline, findings, where the time goes, kernels; then charts and the rest" {
    write_trace
    page trace.json
    "$gputrace" report --no-pager trace.json >first-screen
    probe page.html <<'END' >answer
document.title = [document.querySelector("h1 + p").textContent,
  ...[...document.querySelectorAll("main section")].slice(0, 6).map((section) => section.id.replace("t0-", ""))].join("|");
END
    tr '|' '\n' <answer >lines
    { head -1 first-screen | sed 's/^trace.json · //' && sed -n 's/^[A-Z].*(\([a-z-]*\))$/\1/p' first-screen &&
        printf '%s\n' use flame overview; } | diff - lines
    "$root/tests/cli/ranks_trace" noise=0 slow=1:1000000 rank%r.json
    page rank?.json
    "$gputrace" report --no-pager rank?.json >first-screen
    probe page.html <<'END' >answer
document.title = [document.querySelector("h1 + p").textContent,
  ...[...document.querySelectorAll("main section")].slice(0, 5).map((section) => section.id.replace("t0-", ""))].join("|");
END
    tr '|' '\n' <answer | grep -v '^heat$' >lines
    { head -1 first-screen && sed -n 's/^[A-Z].*(\([a-z-]*\))$/\1/p' first-screen; } | diff - lines
}

@test "the tiles of a job are its time, GPUs and how busy they were" {
    "$root/tests/cli/ranks_trace" noise=0 slow=1:1000000 rank%r.json
    page rank?.json
    probe page.html <<'END' | sed 's/&nbsp;/ /g' >answer
document.title = [...document.querySelectorAll(".tiles li")].map((tile) => tile.textContent).join("|");
END
    # Each GPU is idle for 60 us in each of ten steps; the kernel that waits for other ranks is work, too.
    diff - answer <<<'Time17.2 ms|GPUs4|GPUs busy96 %|Ranks4|Hosts1'
}

@test "columns that say what a row is about come first, and ranges keep their nesting" {
    write_trace
    page trace.json
    probe page.html <<'END' >answer
const heads = (word) => [...document.querySelectorAll(`#t0-${word} thead th`)].map((head) => head.textContent);
const inset = (name) => {
  const text = [...document.querySelectorAll("#t0-nvtx-tree tbody th")].find((head) => head.textContent.trim() === name).firstChild;
  const range = document.createRange();
  range.setStart(text, text.data.search(/\S/));
  range.setEnd(text, text.data.length);
  return range.getBoundingClientRect().left;
};
document.title = [heads("nvtx-kernels").slice(0, 2).join(), heads("idle-where").slice(0, 3).join(), heads("critical-path")[0],
  heads("streams").slice(0, 2).join(), heads("steps").slice(0, 2).join(), inset("inner range") > inset("outer range") + 4].join("|");
END
    diff - answer <<<'Name,Range|Cause,GPU,Call|What|Stream,GPU|Name,Count|true'
}

@test "every chart has an axis with its unit" {
    write_trace
    page trace.json
    probe page.html <<'END' >answer
drawn(() => {
  const wrong = [];
  let looked = 0;
  for (const figure of document.querySelectorAll("main figure")) {
    const charts = figure.querySelectorAll("svg[aria-label]");
    for (const chart of charts) {
      const axis = [...chart.querySelectorAll(".axis"), ...(chart.parentElement.querySelectorAll(":scope > .axis"))].map((part) => part.textContent);
      looked++;
      if (!axis.some((text) => /\u00a0(ns|µs|ms|s|B|KiB)$/.test(text))) wrong.push(`${figure.closest("section").id}: ${axis.join()}`);
    }
    if (!charts.length) wrong.push(`${figure.closest("section").id} has no chart`);
  }
  const labels = (part) => [...document.querySelectorAll(`${part} text.axis`)].map((text) => text.textContent);
  document.title = [...wrong, looked > 10, labels("#t0-use").join(), labels("#t0-memory").join(), [...document.querySelectorAll("#t0-kernels figure > ul > li:first-child .axis")].map((part) => part.textContent).join()].join("|");
});
END
    sed 's/&nbsp;/ /g' answer | tr '|' '\n' | diff - <(printf '%s\n' true '100 %,0' '39.1 KiB,0' 'up to 10 launches,4 µs')
}

@test "names that are HTML or scripts are shown as they are, and do nothing" {
    {
        x kernel '</script><script>document.title="owned"</script>' 0 1 0 1000 '"device":0,"stream":1'
        x kernel '<img src=x onerror=document.title=1>' 0 1 2000 1000 '"device":0,"stream":1'
        x user_annotation '<b onclick=x>' 1 7 0 10
    } | trace
    page trace.json
    browse page.html
    diff /dev/null console
    grep -q '<title>trace.json - gputrace report</title>' dom.html
    sed 's|<script.*||' dom.html >shown
    ! grep -qE '<img|<b onclick' shown
    grep -qF '&lt;img src=x onerror=document.title=1&gt;' shown
}

@test "the page of a comparison is drawn: its bars are the parts and add up to the run, names do nothing, tables are sorted" {
    write_trace
    mv trace.json before.json
    {
        x kernel '<img src=x onerror=document.title=1>' 0 1 0 30000 '"device":0,"stream":1'
        x kernel "kernel<3, a very long name of a template argument that nobody can read in a table>" 0 1 31000 4 '"device":0,"stream":1'
    } | trace
    "$gputrace" diff --html page.html before.json trace.json
    for width in 1280 420; do
        browse page.html "$width"
        diff /dev/null console
        grep -q '<title>before.json → trace.json - gputrace diff</title>' dom.html
        grep -q '<section id="t0-parts"' dom.html
        grep -q '<section id="t0-kernels"' dom.html
    done
    sed '/<script/,/<.script>/d' dom.html >shown
    run -1 grep -qE 'undefined|NaN|\[object|<img' shown
    probe page.html <<'END' >answer
const rows = [...document.querySelectorAll("#t0-parts .difference > div")];
const ends = [...rows.pop().querySelectorAll(".axis span")].map((end) => end.textContent);
const bars = rows.map((bar) => ({
  text: bar.textContent, kind: bar.querySelector("i").className, width: parseFloat(bar.querySelector("i").style.width) }));
const signed = bars.map((bar) => (bar.kind === "longer" ? bar.width : -bar.width));
const whole = signed.pop();
const head = document.querySelector("#t0-kernels thead th:first-child button");
head.click();
document.title = [ends[0] === ends[2].replace("+", "-") && /^-.*s$/.test(ends[0]) && ends[1] === "0", bars.length > 5, Math.abs(signed.reduce((sum, width) => sum + width, 0) - whole) < 0.1,
  bars.every((bar) => bar.kind === "the same" || bar.text.endsWith(` ${bar.kind}`)), bars.some((bar) => bar.text.includes("<img")),
  head.parentElement.getAttribute("aria-sort"), document.querySelectorAll("h1").length, document.documentElement.scrollWidth <= innerWidth].join("|");
END
    diff - answer <<<'true|true|true|true|true|ascending|1|true'
}

@test "the policy in the page stops a script from asking for anything" {
    write_trace
    page trace.json
    probe page.html <<'END' >answer
fetch("http://127.0.0.1:9/").catch(() => (document.title = "stopped"));
END
    [ "$(cat answer)" = stopped ]
    grep -q 'Content Security Policy' console
}

@test "a table is sorted by the heads of its columns and filtered by text" {
    write_trace
    page trace.json
    probe page.html <<'END' >answer
const table = document.querySelector("#t0-kernels table");
const first = () => table.querySelector("tbody th").textContent.slice(0, 10);
const said = [];
const head = table.querySelector("thead th:first-child button");
head.click();
said.push(first(), head.parentElement.getAttribute("aria-sort"));
head.click();
said.push(first(), head.parentElement.getAttribute("aria-sort"));
said.push(table.tBodies[0].rows.length);
const all = [...document.querySelectorAll("#t0-kernels .tools button")][0];
all.click();
said.push(table.tBodies[0].rows.length);
const filter = document.querySelector("#t0-kernels input");
filter.value = "KERNEL<7,";
filter.dispatchEvent(new Event("input"));
said.push(table.tBodies[0].rows.length, first());
document.title = said.join("|");
END
    diff - answer <<<'kernel<0, |ascending|kernel<29,|descending|10|30|1|kernel<7, '
}

@test "charts can be read with a keyboard, and parts of the flame graph enlarged" {
    write_trace
    page trace.json
    probe page.html <<'END' >answer
const said = [];
const tell = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const tipText = () => document.getElementById("tip").textContent.split("\n")[0];
drawn(() => {
  document.querySelector("#t0-use svg[tabindex]").focus();
  tell("ArrowRight");
  said.push(/ to /.test(tipText()));
  tell("Escape");
  said.push(document.getElementById("tip").hidden);
  document.querySelector("#t0-findings svg[tabindex]").focus();
  tell("ArrowRight");
  said.push(tipText().length > 0);
  document.querySelector("#t0-flame figure > div:last-child svg").focus();
  const boxes = () => document.querySelectorAll("#t0-flame .flame rect").length;
  const before = boxes();
  tell("ArrowDown");
  said.push(tipText());
  tell("ArrowDown");
  said.push(tipText());
  tell("Enter");
  said.push(boxes() < before, document.querySelector("#t0-flame p").textContent);
  tell("Escape");
  said.push(boxes() === before);
  document.title = said.join("|");
});
END
    diff - answer <<<'true|true|true|GPU 0|outer range|true|Shown: GPU 0 › outer range|true'
}

@test "the structure is one that a screen reader can follow: headings in order, names for all controls, heads of tables" {
    write_trace
    page trace.json
    probe page.html <<'END' >answer
const wrong = [];
let level = 0;
for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
  const now = Number(heading.tagName[1]);
  if (now > level + 1) wrong.push(`${heading.tagName} after h${level}`);
  level = now;
}
if (document.querySelectorAll("h1").length !== 1 || !document.documentElement.lang) wrong.push("h1 or lang");
for (const svg of document.querySelectorAll("main svg"))
  if (svg.getAttribute("aria-hidden") !== "true" && !svg.getAttribute("aria-label")) wrong.push("svg without a name");
for (const control of document.querySelectorAll("button, input, a, [tabindex='0']"))
  if (!(control.textContent.trim() || control.getAttribute("aria-label"))) wrong.push(`${control.tagName} without a name`);
for (const table of document.querySelectorAll("table"))
  if (!table.caption || !table.querySelector("thead th[scope=col]") || !table.querySelector("tbody th[scope=row]")) wrong.push("table");
const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
if (new Set(ids).size !== ids.length) wrong.push("ids");
for (const link of document.querySelectorAll("a[href^='#']"))
  if (!document.getElementById(decodeURIComponent(link.getAttribute("href").slice(1)))) wrong.push(`link ${link.getAttribute("href")}`);
document.title = wrong.join("|") || "all well";
END
    diff - answer <<<'all well'
}

@test "text has a contrast of 4.5 and what is drawn one of 3, in light and dark" {
    write_trace
    page trace.json
    probe page.html <<'END' >answer
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const rgba = (color) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = color;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const light = ([r, g, b]) => [0.2126, 0.7152, 0.0722].reduce((sum, part, i) => {
  const value = [r, g, b][i] / 255;
  return sum + part * (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
}, 0);
const contrast = (a, b) => {
  const [x, y] = [light(a), light(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
};
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const color = rgba(getComputedStyle(at).backgroundColor);
    if (color[3] === 255) return color;
  }
  return rgba("white");
};
const wrong = new Set();
let looked = 0;
const look = () => { for (const theme of ["light", "dark"]) {
  document.documentElement.dataset.theme = theme;
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || element.closest("svg, script, noscript, [hidden]") || !element.getClientRects().length) continue;
    looked++;
    const value = contrast(rgba(getComputedStyle(element).color), behind(element));
    if (value < 4.5) wrong.add(`${theme} ${element.tagName}.${element.className} ${value.toFixed(1)}`);
  }
  for (const cell of document.querySelectorAll("td.share")) {
    const bar = getComputedStyle(document.documentElement).getPropertyValue("--bar");
    cell.style.setProperty("background-color", bar);
    if (contrast(rgba(getComputedStyle(cell).color), behind(cell)) < 4.5) wrong.add(`${theme} share`);
    cell.style.removeProperty("background-color");
  }
  const page = behind(document.body);
  const surface = behind(document.querySelector(".tiles li"));
  for (const shape of document.querySelectorAll("svg rect, svg path")) {
    const fill = getComputedStyle(shape).fill;
    if (!/^(use|kind-(?!others))/.test(shape.getAttribute("class") || "")) continue;
    looked++;
    if (contrast(rgba(fill), page) < 3 || contrast(rgba(fill), surface) < 3) wrong.add(`${theme} ${shape.getAttribute("class")}`);
  }
  const on = document.querySelector("svg text.on");
  for (const kind of ["use0", "use1", "use2", "use3", "kind-GPU", "kind-range", "kind-operator"]) {
    const shape = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    shape.setAttribute("class", kind);
    on.parentNode.append(shape);
    if (contrast(rgba(getComputedStyle(on).fill), rgba(getComputedStyle(shape).fill)) < 4.5) wrong.add(`${theme} on ${kind}`);
    shape.remove();
  }
}
document.title = `${[...wrong].join("|") || "all well"}, ${looked > 300}`; };
drawn(look);
END
    diff - answer <<<'all well, true'
}

@test "the page is not wider than a phone, and its print has no controls" {
    write_trace
    page trace.json
    local name=phone.html
    { sed '/^<\/body>$/,$d' page.html && cat <<'END' && echo '</body></html>'; } >"$name"
<script>
const look = () => { document.title = document.documentElement.scrollWidth <= window.innerWidth ? "fits" : `${document.documentElement.scrollWidth} of ${window.innerWidth}`; };
document.addEventListener("DOMContentLoaded", () => drawn(look));
</script>
END
    browse "$name" 500
    grep -q '<title>fits</title>' dom.html || fail "$(grep -o '<title>.*</title>' dom.html)"
    HOME=$PWD timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$PWD/browser" \
        --no-pdf-header-footer --print-to-pdf=page.pdf "file://$PWD/page.html" 2>log
    [ "$(stat -c %s page.pdf)" -gt 20000 ]
}

@test "the map of ranks and steps is drawn, marks stragglers, shows other figures, and is read with arrow keys" {
    "$root/tests/cli/ranks_trace" noise=0 slow=1:1000000 rank%r.json
    page rank?.json
    for width in 1280 420; do
        browse page.html "$width"
        diff /dev/null console
    done
    sed '/<script/,/<.script>/d' dom.html >shown
    ! grep -qE 'undefined|NaN|\[object' shown
    probe page.html <<'END' >answer
const said = [];
const section = document.getElementById("t0-heat");
const map = () => section.querySelector("svg.heatmap");
const tell = (key) => map().dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const tipLines = () => document.getElementById("tip").textContent.split("\n");
const shade = (i) => Number(map().querySelectorAll("rect.heat")[i].getAttribute("fill-opacity"));
const whenDrawn = (then) => (map() ? then() : setTimeout(() => whenDrawn(then), 50));
whenDrawn(() => {
  said.push(map().querySelectorAll("rect.heat").length);
  said.push([...map().querySelectorAll("text.late")].map((text) => text.textContent).join());
  const waiting = [...section.querySelectorAll("button")].find((button) => button.textContent === "Waiting for other ranks");
  said.push(waiting.getAttribute("aria-pressed"), [...map().querySelectorAll("text.axis")].map((text) => text.textContent).join());
  section.querySelector("button:not([aria-pressed=true])").click();
  waiting.click();
  whenDrawn(() => {
    said.push(waiting.getAttribute("aria-pressed"), section.querySelectorAll("[aria-pressed=true]").length);
    said.push(shade(0) > 0.9, shade(10) < 0.2);
    map().focus();
    tell("ArrowRight");
    tell("ArrowRight");
    said.push(...tipLines());
    tell("ArrowDown");
    said.push(...tipLines().map((line) => line.slice(0, 32)));
    tell("Escape");
    said.push(document.documentElement.scrollWidth <= innerWidth);
    document.title = said.join("|");
  });
});
END
    sed 's/&nbsp;/ /g' answer | tr '|' '\n' >lines
    diff - lines <<'END'
40
1 ▶
true
rank,step
true
1
true
true
rank 0, step 2
Waiting for other ranks: 1.00 ms
rank 1, step 2
Waiting for other ranks: 0 ns
Rank 1 makes the others wait 900
true
END
}

@test "a job on two hosts, of which a rank died, is drawn without a word on the console" {
    "$build/make_job" -n 4 -H 2 -s 6 -x 3:4 -c job >/dev/null
    page job/rank*
    browse page.html
    diff /dev/null console
    for part in findings overview heat ranks comm; do
        grep -q "<section id=\"t0-$part\"" dom.html || fail "no section $part"
    done
    [ "$(grep -o 'aria-label="Timeline from' dom.html | wc -l)" -ge 2 ]
    sed '/<script/,/<.script>/d' dom.html >shown
    ! grep -qE 'undefined|NaN|\[object' shown
}
