// What makes pages live. Without it they are complete, and stand still.
'use strict';
(() => {
  const $ = (q, root = document) => root.querySelector(q);
  const page = document.body.dataset.page;
  const nav = $(`nav a[data-nav="${{ trajectory: 'trajectories', event: 'trajectories', confirmation: 'confirmations', rubric: 'rubrics' }[page] || page}"]`);
  if (nav) nav.setAttribute('aria-current', 'page');

  // The token stands behind the #, which no server and no log sees.
  const tokens = $('#token-form');
  if (tokens && location.hash.length > 8) {
    const token = location.hash.slice(1);
    history.replaceState(null, '', location.pathname);
    $('#token').value = token;
    tokens.requestSubmit();
  }
  window.margayPlot.all(document);

  // Details of answers are fetched when they are opened.
  async function fill(details) {
    const to = $('[data-fill]', details);
    if (!details.open || !to || to.dataset.filled) return;
    to.dataset.filled = '1';
    try {
      const r = await fetch(`/console/events/${details.dataset.event}?part=1`);
      if (!r.ok) throw new Error(r.status === 401 || r.redirected ? 'the session has ended: log in again' : `the answer was ${r.status}`);
      to.innerHTML = await r.text();
      window.margayPlot.all(to);
    } catch (e) {
      delete to.dataset.filled;
      to.textContent = `The details can't be shown: ${e.message}. Close and open this to try again.`;
    }
  }
  document.addEventListener('toggle', (e) => { if (e.target.matches && e.target.matches('details.answer')) fill(e.target); }, true);
  const latest = $('.timeline details.answer');
  if (latest && page === 'trajectory') latest.open = true;

  // Times until an answer is due.
  const due = () => {
    for (const t of document.querySelectorAll('time[data-until]')) {
      const s = Math.max(0, Math.round((new Date(t.dateTime) - Date.now()) / 1000));
      t.textContent = s > 0 ? `in ${s} s` : 'now';
    }
  };
  due();
  if ($('time[data-until]')) setInterval(due, 1000);

  // Keys of the queue. An answer takes its key twice: a slip is no answer.
  let armed = null, disarm = 0;
  const questions = () => [...document.querySelectorAll('.question')];
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.repeat || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    const all = questions();
    if (!all.length) return;
    const at = all.findIndex((q) => q.contains(document.activeElement));
    if (e.key === 'j' || e.key === 'k') {
      const next = all[Math.max(0, Math.min(all.length - 1, at + (e.key === 'j' ? 1 : at < 0 ? 1 : -1)))];
      next.focus();
      next.scrollIntoView({ block: 'nearest' });
      return;
    }
    if (at < 0) return;
    const button = $(`button[data-key="${CSS.escape(e.key)}"]`, all[at]);
    if (!button) return;
    if (armed === button) { button.click(); return; }
    if (armed) armed.classList.remove('armed');
    armed = button;
    button.classList.add('armed');
    say(`Press ${e.key} again: ${button.textContent.trim()}`);
    clearTimeout(disarm);
    disarm = setTimeout(() => { button.classList.remove('armed'); armed = null; say(''); }, 4000);
  });
  document.addEventListener('submit', (e) => { for (const b of e.target.querySelectorAll('button')) setTimeout(() => { b.disabled = true; }, 0); });

  const state = $('#live-state');
  function say(text) { state.textContent = text; state.hidden = !text; }

  const live = $('[data-live]');
  if (!live || !$('nav')) return;
  const seen = new Set();
  let source, last = Number(live.dataset.seq || 0), failures = 0;
  const under = new Map(); // answers under way

  const handlers = {
    part(d) {
      if (d.part === 'queue') {
        if (d.html.trim() !== (live.dataset.queue || '').trim()) location.reload();
        return;
      }
      const to = document.getElementById(d.part);
      if (d.part === 'live-problem') { say(d.html); return; }
      if (!to || to.contains(document.activeElement)) return; // not under somebody's hands
      const opened = [...to.querySelectorAll('details')].map((x) => x.open);
      to.innerHTML = d.html;
      to.querySelectorAll('details').forEach((x, i) => { x.open = !!opened[i]; });
    },
    count(d) {
      const to = $('[data-count]');
      if (to) { to.textContent = d.open; to.hidden = !d.open; }
    },
    row(d) {
      last = Math.max(last, d.seq);
      if (seen.has(d.seq) || document.getElementById(`e${d.seq}`)) return;
      seen.add(d.seq);
      const list = $('#timeline');
      list.insertAdjacentHTML('afterbegin', d.html);
      while (list.children.length > 400) list.lastElementChild.remove();
      if (d.kind === 'answer') {
        for (const [key, u] of under) if (u.answer === d.id) { u.figure.remove(); under.delete(key); }
        const details = $(`#e${d.seq} details.answer`);
        if (details) details.open = true;
      }
    },
    tokens(d) {
      const key = `${d.answer}/${d.text}`;
      let u = under.get(key);
      if (!u) {
        if (under.size >= 16) return;
        const figure = document.createElement('figure');
        figure.className = 'plot under-way';
        const canvas = document.createElement('canvas');
        canvas.setAttribute('role', 'img');
        canvas.setAttribute('aria-label', 'Risk of the tokens of the answer under way');
        const caption = document.createElement('figcaption');
        figure.append(canvas, caption);
        $('#under-way').append(figure);
        u = { answer: d.answer, figure, canvas, caption, drawing: false, series: { risk: [], zone: '', least: [], most: [] } };
        under.set(key, u);
      }
      const s = u.series, t = d.series;
      for (const name of ['risk', 'least', 'most']) s[name] = s[name].slice(0, d.from).concat(t[name]);
      s.zone = s.zone.slice(0, d.from) + t.zone;
      Object.assign(s, { n: t.n, every: t.every, yellow: t.yellow, red: t.red, vocabulary: t.vocabulary });
      u.canvas.dataset.tokens = t.n;
      if (u.drawing) return;
      u.drawing = true;
      requestAnimationFrame(() => {
        u.drawing = false;
        window.margayPlot.draw(u.canvas, s);
        u.caption.textContent = `Under way: ${s.n} tokens of ${d.field}`;
      });
    },
    // More happened at once than a page is told of.
    gap() {
      for (const [key, u] of under) { u.figure.remove(); under.delete(key); }
      const list = $('#timeline');
      if (list.firstElementChild && list.firstElementChild.classList.contains('gap')) return;
      list.insertAdjacentHTML('afterbegin', '<li class="gap"><div class="when">…</div><div class="what">More happened here than is shown. <a href="">Load the page again</a> to see it.</div></li>');
    },
    reset() { location.reload(); },
  };

  function open() {
    const q = new URLSearchParams({ topic: live.dataset.live });
    if (live.dataset.id) q.set('id', live.dataset.id);
    if (last) q.set('after', last);
    source = new EventSource(`/api/stream?${q}`);
    source.onopen = () => { failures = 0; document.body.dataset.live = 'on'; if (!armed) say(''); };
    source.onerror = async () => {
      document.body.dataset.live = 'off';
      failures++;
      source.close();
      let why = 'the connection is gone';
      try {
        const r = await fetch('/api/session');
        if (r.status === 401) { say('The session has ended, so this page stands still. margay console prints a new address to open.'); return; }
        if (!r.ok) why = `the console answers ${r.status}`;
      } catch { /* it is down */ }
      say(`Live updates have stopped: ${why}. Trying again.`);
      setTimeout(open, Math.min(30000, 500 * 2 ** failures));
    };
    for (const [name, f] of Object.entries(handlers)) source.addEventListener(name, (e) => f(JSON.parse(e.data)));
  }
  open();
  addEventListener('pagehide', () => source.close());
})();
