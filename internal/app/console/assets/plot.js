// Draws the risk of tokens on a canvas. However many points there are, each
// column of pixels is drawn once, from the least to the most of its points.
'use strict';
(() => {
  // colours are those of the style sheet, asked for once a drawing.
  const colours = () => {
    const style = getComputedStyle(document.documentElement), out = {};
    for (const name of ['dim', 'yellow', 'red', 'entropy', 'hstar', 'risk', 'panel', 'focus']) out[name] = style.getPropertyValue(`--${name}`).trim();
    return out;
  };

  // The entropy that a token copied with fidelity q can't exceed, of one.
  const hstar = (q, v) => {
    const h = q >= 1 ? 0 : -q * Math.log(q) - (1 - q) * Math.log1p(-q);
    return (h + (1 - q) * Math.log(v - 1)) / Math.log(v);
  };

  // columns are what each column of pixels shows of a series: the least and the
  // most of its points, and its worst zone. They are kept until the series grows
  // or the canvas has another width, so that a cursor costs no pass over it.
  const kept = new WeakMap();
  function columns(s, width) {
    const n = s.risk.length, was = kept.get(s);
    if (was && was.width === width && was.n === n && was.every === s.every) return was;
    const low = new Int16Array(width).fill(-1), high = new Int16Array(width).fill(-1);
    const least = new Int16Array(width).fill(-1), most = new Int16Array(width).fill(-1), zone = new Uint8Array(width);
    const by = n <= 1 ? 0 : (width - 1) / (n - 1);
    for (let i = 0; i < n; i++) {
      const c = Math.floor(i * by);
      const r = s.risk[i], a = s.least[i], b = s.most[i], z = s.zone.charCodeAt(i);
      if (high[c] < 0) { low[c] = high[c] = r; } else if (r < low[c]) low[c] = r; else if (r > high[c]) high[c] = r;
      if (a >= 0) {
        if (least[c] < 0 || a < least[c]) least[c] = a;
        if (b > most[c]) most[c] = b;
      }
      if (z === 114) zone[c] = 2; else if (z === 121 && zone[c] < 1) zone[c] = 1;
    }
    const now = { width, n, every: s.every, low, high, least, most, zone };
    kept.set(s, now);
    return now;
  }

  // draw shows a series {risk, zone, least, most, yellow, red, vocabulary},
  // numbers in thousandths, and a cursor at a point. Its cost goes by the width
  // of the canvas: one rectangle a column, and one mark where marks would
  // cover each other.
  function draw(canvas, s, cursor = -1) {
    const ratio = window.devicePixelRatio || 1;
    const w = Math.max(1, Math.round(canvas.clientWidth * ratio)), h = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    const g = canvas.getContext('2d'), css = colours();
    g.clearRect(0, 0, w, h);
    const n = s.risk.length, pad = 4 * ratio, left = 34 * ratio;
    const y = (v) => h - pad - v / 1000 * (h - 2 * pad);
    const wide = Math.max(1, Math.floor(w - left - pad));
    const { low, high, least, most, zone } = columns(s, wide);

    g.font = `${11 * ratio}px system-ui, sans-serif`;
    g.fillStyle = css.dim;
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    for (const v of [0, 500, 1000]) g.fillText((v / 1000).toFixed(1), left - 5 * ratio, Math.min(h - 7 * ratio, Math.max(7 * ratio, y(v))));

    // Zones are bands behind the rest.
    g.globalAlpha = 0.13;
    if (s.red < 1000 || s.yellow < s.red) {
      g.fillStyle = css.yellow;
      g.fillRect(left, y(s.red), w - left, y(s.yellow) - y(s.red));
      g.fillStyle = css.red;
      g.fillRect(left, 0, w - left, y(s.red));
    }
    g.globalAlpha = 1;

    g.fillStyle = css.entropy;
    const step = Math.max(1, Math.ceil(wide / Math.max(1, n - 1)));
    for (let c = 0; c < wide; c++) {
      if (least[c] >= 0) g.fillRect(left + c, y(most[c]) - ratio, Math.min(step, wide - c), Math.max(2 * ratio, y(least[c]) - y(most[c])));
    }

    g.strokeStyle = css.hstar;
    g.lineWidth = ratio;
    g.setLineDash([5 * ratio, 4 * ratio]);
    g.fillStyle = css.hstar;
    g.textAlign = 'left';
    for (const q of [0.9, 0.99]) {
      const at = y(1000 * hstar(q, Math.max(2, s.vocabulary || 2)));
      g.beginPath(); g.moveTo(left, at); g.lineTo(w, at); g.stroke();
      g.fillText(`H*(${q})`, left + 4 * ratio, at - 7 * ratio);
    }
    g.setLineDash([]);

    // Where every column has points, a rectangle each, down or up to its
    // neighbour's; else a line from point to point.
    const line = 1.25 * ratio;
    if (n >= wide) {
      g.fillStyle = css.risk;
      for (let c = 0, from = low[0], to = high[0]; c < wide; c++) {
        const top = y(Math.max(high[c], from)), bottom = y(Math.min(low[c], to));
        g.fillRect(left + c, top - line / 2, line, bottom - top + line);
        from = low[c]; to = high[c];
      }
    } else {
      g.strokeStyle = css.risk;
      g.lineWidth = line;
      g.beginPath();
      let begun = false;
      for (let c = 0; c < wide; c++) {
        if (high[c] < 0) continue;
        if (begun) g.lineTo(left + c, y(low[c])); else g.moveTo(left + c, y(low[c]));
        if (high[c] !== low[c]) g.lineTo(left + c, y(high[c]));
        begun = true;
      }
      g.stroke();
    }

    // A square is yellow and a disc is red, whatever colours one sees. Of
    // those that would lie on each other the worst is drawn.
    const r = 3.5 * ratio, room = Math.max(1, Math.floor(r));
    g.strokeStyle = css.panel;
    g.lineWidth = ratio;
    const marks = [[], [], []];
    for (let c = 0; c < wide; c += room) {
      let at = c;
      for (let k = c + 1; k < Math.min(c + room, wide); k++) {
        if (zone[k] > zone[at] || zone[k] === zone[at] && high[k] > high[at]) at = k;
      }
      marks[zone[at]].push(at);
    }
    for (const [z, colour] of [[1, css.yellow], [2, css.red]]) {
      g.fillStyle = colour;
      g.beginPath();
      for (const c of marks[z]) {
        const cx = left + c, cy = y(high[c]);
        if (z === 2) { g.moveTo(cx + r, cy); g.arc(cx, cy, r, 0, 2 * Math.PI); } else g.rect(cx - r, cy - r, 2 * r, 2 * r);
      }
      g.fill();
      g.stroke();
    }

    if (cursor >= 0 && cursor < n) {
      const x = left + (n <= 1 ? 0 : cursor / (n - 1) * (wide - 1));
      g.strokeStyle = css.focus;
      g.lineWidth = 2 * ratio;
      g.beginPath(); g.moveTo(x, 0); g.lineTo(x, h); g.stroke();
    }
  }

  const words = { g: 'green', y: 'yellow', r: 'red' };

  // attach draws a series and reads out single points.
  function attach(canvas, s) {
    let cursor = -1;
    const out = canvas.closest('figure') && canvas.closest('figure').querySelector('[data-readout]');
    const show = (i) => {
      cursor = Math.max(0, Math.min(s.risk.length - 1, i));
      draw(canvas, s, cursor);
      if (!out) return;
      const every = s.every || 1;
      const e = s.least[cursor] < 0 ? 'entropy not known' : `entropy ${(s.least[cursor] / 1000).toFixed(3)} to ${(s.most[cursor] / 1000).toFixed(3)}`;
      out.textContent = `${every > 1 ? `tokens ${cursor * every + 1} to ${Math.min(s.n, (cursor + 1) * every)}, the worst` : `token ${cursor + 1}`}: risk ${(s.risk[cursor] / 1000).toFixed(3)}, ${words[s.zone[cursor]] || ''}, ${e}`;
    };
    draw(canvas, s);
    canvas.addEventListener('keydown', (e) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9 }[e.key];
      if (by === undefined) return;
      e.preventDefault();
      show(cursor + by);
    });
    canvas.addEventListener('mousemove', (e) => {
      const r = canvas.getBoundingClientRect();
      show(Math.round((e.clientX - r.left - 34) / Math.max(1, r.width - 38) * (s.risk.length - 1)));
    });
    new ResizeObserver(() => draw(canvas, s, cursor)).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw(canvas, s, cursor));
  }

  // all draws the plots below an element.
  function all(root) {
    for (const canvas of root.querySelectorAll('canvas[data-plot]')) {
      if (canvas.dataset.drawn) continue;
      const data = root.querySelector(`script[data-series="${CSS.escape(canvas.dataset.plot)}"]`);
      if (!data) continue;
      canvas.dataset.drawn = '1';
      attach(canvas, JSON.parse(data.textContent));
    }
  }

  window.margayPlot = { draw, attach, all };
})();
