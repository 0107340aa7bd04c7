// One request at a time, the newest wins.

const WAITING_AFTER = 1500; // ms without an answer before we say so

// At most one request is under way; while it is, only the newest state is kept. So a drag never queues up, and the
// last position is always the one that is shown in the end.
export function makeCourier({ send, onWaiting = () => {}, later = setTimeout, never = clearTimeout }) {
  const view = Math.random().toString(36).slice(2);
  let number = 0;
  let underWay = false;
  let pending = null;
  let timer = null;

  const dispatch = (state) => {
    underWay = true;
    number += 1;
    timer = later(() => onWaiting(true), WAITING_AFTER);
    send({ view, number, state });
  };
  const settle = () => {
    never(timer);
    onWaiting(false);
    underWay = false;
  };
  return {
    offer(state) {
      if (underWay) pending = state;
      else dispatch(state);
    },
    // Returns whether the learner is ahead of this answer.
    receive(answer) {
      if (answer.view === view && answer.number === number && underWay) {
        settle();
        if (pending !== null) {
          const state = pending;
          pending = null;
          dispatch(state);
        }
      }
      return underWay;
    },
    stop: () => never(timer),
  };
}
