// Draws the risk of tokens on a canvas. However many points there are, each
// column of pixels is drawn once, from the least to the most of its points.
'use strict';
(() => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // The entropy that a token copied with fidelity q can't exceed, of one.
  const hstar = (q, v) => {
    const h = q >= 1 ? 0 : -q * Math.log(q) - (1 - q) * Math.log1p(-q);
    return (h + (1 - q) * Math.log(v - 1)) / Math.log(v);
  };

  // draw shows a series {risk, zone, least, most, yellow, red, vocabulary},
  // numbers in thousandths, and a cursor at a point.
  function draw(canvas, s, cursor = -1) {
    const ratio = window.devicePixelRatio || 1;
    const w = Math.max(1, Math.round(canvas.clientWidth * ratio)), h = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    const g = canvas.getContext('2d');
    g.clearRect(0, 0, w, h);
    const n = s.risk.length, pad = 4 * ratio, left = 34 * ratio;
    const y = (v) => h - pad - v / 1000 * (h - 2 * pad);
    const columns = Math.max(1, Math.floor(w - left - pad));
    const x = (i) => left + (n <= 1 ? 0 : i / (n - 1) * (columns - 1));

    g.font = `${11 * ratio}px system-ui, sans-serif`;
    g.fillStyle = css('--dim');
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    for (const v of [0, 500, 1000]) g.fillText((v / 1000).toFixed(1), left - 5 * ratio, Math.min(h - 7 * ratio, Math.max(7 * ratio, y(v))));

    // Zones are bands behind the rest.
    g.globalAlpha = 0.13;
    if (s.red < 1000 || s.yellow < s.red) {
      g.fillStyle = css('--yellow');
      g.fillRect(left, y(s.red), w - left, y(s.yellow) - y(s.red));
      g.fillStyle = css('--red');
      g.fillRect(left, 0, w - left, y(s.red));
    }
    g.globalAlpha = 1;

    // Each column: the least and the most of its points, and its worst zone.
    const low = new Int32Array(columns).fill(-1), high = new Int32Array(columns).fill(-1);
    const least = new Int32Array(columns).fill(-1), most = new Int32Array(columns).fill(-1), zone = new Uint8Array(columns);
    for (let i = 0; i < n; i++) {
      const c = n <= 1 ? 0 : Math.floor(i / (n - 1) * (columns - 1));
      const r = s.risk[i];
      if (high[c] < 0) { low[c] = high[c] = r; } else { if (r < low[c]) low[c] = r; if (r > high[c]) high[c] = r; }
      if (s.least[i] >= 0) {
        if (least[c] < 0 || s.least[i] < least[c]) least[c] = s.least[i];
        if (s.most[i] > most[c]) most[c] = s.most[i];
      }
      const z = s.zone.charCodeAt(i);
      if (z === 114) zone[c] = 2; else if (z === 121 && zone[c] < 1) zone[c] = 1;
    }

    g.fillStyle = css('--entropy');
    const step = Math.max(1, Math.ceil(columns / Math.max(1, n - 1)));
    for (let c = 0; c < columns; c++) {
      if (least[c] >= 0) g.fillRect(left + c, y(most[c]) - ratio, Math.min(step, columns - c), Math.max(2 * ratio, y(least[c]) - y(most[c])));
    }

    g.strokeStyle = css('--hstar');
    g.lineWidth = ratio;
    g.setLineDash([5 * ratio, 4 * ratio]);
    g.fillStyle = css('--hstar');
    g.textAlign = 'left';
    for (const q of [0.9, 0.99]) {
      const at = y(1000 * hstar(q, Math.max(2, s.vocabulary || 2)));
      g.beginPath(); g.moveTo(left, at); g.lineTo(w, at); g.stroke();
      g.fillText(`H*(${q})`, left + 4 * ratio, at - 7 * ratio);
    }
    g.setLineDash([]);

    g.strokeStyle = css('--risk');
    g.lineWidth = 1.25 * ratio;
    g.beginPath();
    let begun = false;
    for (let c = 0; c < columns; c++) {
      if (high[c] < 0) continue;
      if (begun) g.lineTo(left + c, y(low[c])); else g.moveTo(left + c, y(low[c]));
      if (high[c] !== low[c]) g.lineTo(left + c, y(high[c]));
      begun = true;
    }
    g.stroke();

    // A square is yellow and a disc is red, whatever colours one sees.
    for (let c = 0; c < columns; c++) {
      if (zone[c] === 0) continue;
      const r = 3.5 * ratio, cx = left + c, cy = y(high[c]);
      g.fillStyle = css(zone[c] === 2 ? '--red' : '--yellow');
      g.strokeStyle = css('--panel');
      g.beginPath();
      if (zone[c] === 2) g.arc(cx, cy, r, 0, 7); else g.rect(cx - r, cy - r, 2 * r, 2 * r);
      g.fill(); g.stroke();
    }

    if (cursor >= 0 && cursor < n) {
      g.strokeStyle = css('--focus');
      g.lineWidth = 2 * ratio;
      g.beginPath(); g.moveTo(x(cursor), 0); g.lineTo(x(cursor), h); g.stroke();
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
