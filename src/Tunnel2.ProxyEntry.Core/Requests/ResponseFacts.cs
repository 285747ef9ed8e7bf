using System.Text;
using Tunnel2.Http1.Syntax;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// What ProxyEntry itself needs to know from a response's fields, read in one pass. It does not trust the agent to have checked them.
/// </summary>
/// <param name="Length">The declared length of the body in bytes, or <see cref="NoLength"/>.</param>
/// <param name="Timing">The agent's measurements, or null.</param>
internal readonly record struct ResponseFacts(long Length, AgentTiming? Timing)
{
    /// <summary>The length of the body is not declared: it ends with the stream.</summary>
    public const long NoLength = -1;

    /// <summary>The length of the names Content-Length and Tunnel2-Timing; few other names have it.</summary>
    private const int NameLength = 14;

    /// <summary>Whether a field declares the body's length.</summary>
    public bool HasLength => Length != NoLength;

    /// <summary>Reads them. Of several timings the last one counts, because the agent adds its own after the backend's fields.</summary>
    /// <param name="head">The block.</param>
    /// <param name="facts">The result; for a head that is refused only the timing counts.</param>
    /// <returns>False when a declared length is invalid, or two of them differ.</returns>
    public static bool TryRead(scoped in HeaderBlock head, out ResponseFacts facts)
    {
        var isValid = true;
        var length = NoLength;
        AgentTiming? timing = null;
        foreach (var field in head.Fields)
        {
            var name = field.Name;
            if (name.Length != NameLength)
            {
                continue;
            }

            if (Ascii.EqualsIgnoreCase(name, "Content-Length"u8))
            {
                isValid &= ContentLengthSyntax.TryParse(field.Value, out var declared) && (length == NoLength || length == declared);
                length = declared;
            }
            else if (Ascii.EqualsIgnoreCase(name, ExchangeExtras.TimingField))
            {
                timing = AgentTiming.Parse(field.Value);
            }
        }

        facts = new ResponseFacts(length, timing);
        return isValid;
    }
}
