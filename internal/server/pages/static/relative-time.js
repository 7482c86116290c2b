// <relative-time> keeps "12m ago" true, and shows the exact time in the reader's own time zone on hover. The server
// writes the same words: view.Ago.
const minute = 60, hour = 60 * minute, day = 24 * hour;

function words(seconds, date, long) {
  const say = (n, unit) => long ? `${n} ${unit}${n === 1 ? '' : 's'} ago` : `${n}${unit[0]} ago`;
  if (seconds < minute) return long ? 'just now' : 'now';
  if (seconds < hour) return say(Math.floor(seconds / minute), 'minute');
  if (seconds < day) return say(Math.floor(seconds / hour), 'hour');
  if (seconds < 2 * day) return 'yesterday';
  if (seconds < 30 * day) return say(Math.floor(seconds / day), 'day');
  const options = { day: 'numeric', month: long ? 'long' : 'short', year: 'numeric', timeZone: 'UTC' };
  return (long ? 'on ' : '') + date.toLocaleDateString('en-GB', options);
}

const all = new Set();
const updateAll = () => all.forEach((element) => element.update());
setInterval(updateAll, 15_000);
document.addEventListener('updated', updateAll);

customElements.define('relative-time', class extends HTMLElement {
  connectedCallback() {
    all.add(this);
    this.update();
  }

  disconnectedCallback() { all.delete(this); }

  update() {
    const time = this.querySelector('time');
    if (!time) return;
    const date = new Date(time.dateTime);
    time.textContent = words((Date.now() - date) / 1000, date, this.hasAttribute('long'));
    time.title = date.toLocaleString(undefined, { dateStyle: 'full', timeStyle: 'long' });
  }
});
