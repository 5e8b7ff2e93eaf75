"""Figures as text: for a terminal, padded, and as Markdown."""
import statistics


def number(value, digits=None):
    """A figure with as many digits as say something."""
    if value is None:
        return "–"
    if digits is None:
        size = abs(value)
        digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:,.{digits}f}"


def spread(values):
    """The median, and the least and the most in parentheses."""
    values = [value for value in values if value is not None]
    if not values:
        return "–"
    middle = statistics.median(values)
    if len(values) == 1:
        return number(middle)
    size = abs(middle)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{number(middle, digits)} ({number(min(values), digits)}–{number(max(values), digits)})"


def padded(rows):
    """Rows of texts, the first one as the head, the first column to the left and the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                       for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]
    return "\n".join([lines[0], "-" * (sum(widths) + 2 * (len(widths) - 1)), *lines[1:]])


def markdown(rows):
    return "\n".join(["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0]),
                      *("| " + " | ".join(row) + " |" for row in rows[1:])])
