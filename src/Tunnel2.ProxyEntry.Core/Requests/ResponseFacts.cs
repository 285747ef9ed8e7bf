using System.Text;
using Tunnel2.Http1.Syntax;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// What ProxyEntry itself has to know of a response's fields, from one walk over them. The agent is not trusted to have checked any of it.
/// </summary>
/// <param name="Length">The declared length of the body in bytes, or <see cref="NoLength"/>.</param>
/// <param name="Timing">What the agent measured, or null.</param>
internal readonly record struct ResponseFacts(long Length, AgentTiming? Timing)
{
    /// <summary>The body's length is not declared: it ends where the stream does.</summary>
    public const long NoLength = -1;

    /// <summary>That of Content-Length and of the timing's field, and of few others.</summary>
    private const int NameLength = 14;

    /// <summary>Whether a field declares the body's length.</summary>
    public bool HasLength => Length != NoLength;

    /// <summary>Reads them. Of several timings the last counts: the agent adds its own behind the backend's fields.</summary>
    /// <param name="head">The block.</param>
    /// <param name="facts">What it says; of a head that is refused only the timing counts.</param>
    /// <returns>False when what is declared is no length, or two different ones.</returns>
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
