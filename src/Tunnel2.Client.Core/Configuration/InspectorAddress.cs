using System.Net;

namespace Tunnel2.Client.Core.Configuration;

/// <summary>Where an inspector listens.</summary>
/// <param name="Address">An address of this machine.</param>
/// <param name="Port">0–65535; 0: any free one.</param>
public sealed record InspectorAddress(IPAddress Address, int Port)
{
    /// <summary>The usual port.</summary>
    public const int DefaultPort = 4040;

    /// <summary>Whether no other machine can call it.</summary>
    public bool IsLoopback => IPAddress.IsLoopback(Address);

    /// <summary>
    /// Reads <c>4040</c>, <c>:4040</c>, <c>127.0.0.1:4040</c>, <c>[::1]:4040</c>, <c>localhost:4040</c> or an address alone.
    /// </summary>
    /// <returns>Null and an <paramref name="address"/>, or what is wrong.</returns>
    internal static string? TryParse(string text, out InspectorAddress? address)
    {
        address = null;
        string portText = text.StartsWith(':') ? text[1..] : text;
        if (portText.Length > 0 && portText.All(char.IsAsciiDigit))
        {
            if (!HostPort.TryParsePort(portText, out int only))
            {
                return $"'{portText}' is not a port (1 to 65535)";
            }

            address = new InspectorAddress(IPAddress.Loopback, only);
            return null;
        }

        if (HostPort.TrySplit(text, out string host, out int? port) is { } mistake)
        {
            return mistake;
        }

        IPAddress? parsed = host.Equals("localhost", StringComparison.OrdinalIgnoreCase) ? IPAddress.Loopback : null;
        if (parsed is null && !IPAddress.TryParse(host, out parsed))
        {
            return $"'{host}' is not an address of this machine";
        }

        address = new InspectorAddress(parsed, port ?? DefaultPort);
        return null;
    }

    /// <summary>Such as <c>127.0.0.1:4040</c>.</summary>
    public override string ToString() => new IPEndPoint(Address, Port).ToString();
}
