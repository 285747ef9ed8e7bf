using System.Globalization;
using System.Text.Json;

namespace Tunnel2.Inspection.Exporting;

/// <summary>
/// How a number of a store is written and read, such as the id of an exchange. A store alone writes a number. That of a node of a cluster
/// writes <c>e1:12</c>, so that no two nodes have one id, and reads the part that is its own of <c>e1:12,e2:40</c>. Stateless.
/// </summary>
internal static class ExchangeId
{
    /// <summary>Between the node and the number; no node's id has it.</summary>
    public const char Separator = ':';

    /// <summary>Between the ids of several nodes.</summary>
    public const char Comma = ',';

    /// <summary>How many nodes are read at most.</summary>
    private const int MostParts = 256;

    /// <summary>The text of an id.</summary>
    /// <param name="node">The node of the store; null: it is alone.</param>
    /// <param name="number">The number.</param>
    public static string Text(string? node, long number) => node is null
        ? number.ToString(CultureInfo.InvariantCulture)
        : string.Create(CultureInfo.InvariantCulture, $"{node}{Separator}{number}");

    /// <summary>Writes it as a member.</summary>
    /// <param name="json">Where to.</param>
    /// <param name="member">The member's name.</param>
    /// <param name="node">The node of the store; null: it is alone.</param>
    /// <param name="number">The number.</param>
    public static void Write(Utf8JsonWriter json, string member, string? node, long number)
    {
        if (node is null)
        {
            json.WriteNumber(member, number);
        }
        else
        {
            json.WriteString(member, Text(node, number));
        }
    }

    /// <summary>The number that is a store's own. An id without a node is any store's.</summary>
    /// <param name="text">The text, or null.</param>
    /// <param name="node">The node of the store; null: it is alone.</param>
    /// <returns>Null: there is none.</returns>
    public static long? Read(string? text, string? node)
    {
        foreach (var part in (text ?? "").Split(Comma, MostParts))
        {
            var (of, number) = Split(part);
            if ((of is null || of == node) && long.TryParse(number, NumberStyles.None, CultureInfo.InvariantCulture, out var value))
            {
                return value;
            }
        }

        return null;
    }

    /// <summary>The node and the number of an id.</summary>
    public static (string? Node, string Number) Split(string id) =>
        id.LastIndexOf(Separator) is var at && at < 0 ? (null, id) : (id[..at], id[(at + 1)..]);
}
