/** Return the parameters of a card's move: none for people who asked their system for less motion. */
export const motion = () => ({ duration: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 200 });
