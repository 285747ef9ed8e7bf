using System.Text;

namespace Tunnel2.Http1;

/// <summary>
/// Names that differ only in letter case, or in a sign where the other has another one, such as <c>X_Debug</c> and <c>X-Debug</c>. Many
/// services cannot distinguish them, because their variables have underscores. Pure.
/// </summary>
internal static class FieldLookalikes
{
    /// <summary>Whether two names look alike; equal ones do.</summary>
    public static bool Are(string own, ReadOnlySpan<byte> other)
    {
        if (own.Length != other.Length)
        {
            return false;
        }

        for (var i = 0; i < own.Length; i++)
        {
            if (!AreAlike(own[i], (char)other[i]))
            {
                return false;
            }
        }

        return true;
    }

    /// <inheritdoc cref="Are(string, ReadOnlySpan{byte})"/>
    public static bool Are(string own, string other)
    {
        if (own.Length != other.Length)
        {
            return false;
        }

        for (var i = 0; i < own.Length; i++)
        {
            if (!AreAlike(own[i], other[i]))
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Whether a field of a message is the one that is meant.</summary>
    /// <param name="name">The name that is meant.</param>
    /// <param name="field">The field's name.</param>
    /// <param name="withLookalikes">Whether a lookalike will do.</param>
    public static bool IsMeant(string name, ReadOnlySpan<byte> field, bool withLookalikes) =>
        withLookalikes ? Are(name, field) : field.Length == name.Length && Ascii.EqualsIgnoreCase(field, name);

    private static bool AreAlike(char own, char other) => char.IsAsciiLetterOrDigit(own)
        ? own == other || (char.IsAsciiLetter(own) && (own | 0x20) == (other | 0x20))
        : !char.IsAsciiLetterOrDigit(other);
}
