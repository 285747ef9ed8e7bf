using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Text;

namespace Tunnel2.Client.Core.Inspecting;

/// <summary>How a token was judged.</summary>
internal enum TokenVerdict
{
    /// <summary>It is the one.</summary>
    Right,

    /// <summary>It is not.</summary>
    Wrong,

    /// <summary>Too many were wrong from this address: it was not looked at.</summary>
    TooMany,
}

/// <summary>
/// Guards an inspector that other machines can call: by a token, or by the cookie that a browser gets for it. Wrong tokens are counted by
/// address. Thread-safe; all that it keeps has a limit.
/// </summary>
internal sealed class InspectorAccess
{
    /// <summary>The name of the cookie.</summary>
    public const string Cookie = "tunnel2-inspector";

    private const int MaxToken = 1024;
    private const int MostSessions = 32;
    private const int MostAddresses = 256;
    private const int MostWrong = 10;
    private static readonly TimeSpan _window = TimeSpan.FromMinutes(1);

    private readonly Lock _gate = new();
    private readonly byte[] _token;
    private readonly TimeProvider _time;
    private readonly Queue<string> _sessions = new();
    private readonly Dictionary<string, (long Since, int Count)> _wrong = [];

    /// <param name="token">The token.</param>
    /// <param name="time">The clock.</param>
    public InspectorAccess(string token, TimeProvider time)
    {
        _token = SHA256.HashData(Encoding.UTF8.GetBytes(token));
        _time = time;
    }

    /// <summary>Judges a token, in constant time.</summary>
    public TokenVerdict Judge(IPAddress from, string token)
    {
        var address = KeyOf(from);
        lock (_gate)
        {
            if (_wrong.TryGetValue(address, out var wrong) && wrong.Count >= MostWrong && _time.GetElapsedTime(wrong.Since) < _window)
            {
                return TokenVerdict.TooMany;
            }
        }

        if (token.Length <= MaxToken && CryptographicOperations.FixedTimeEquals(SHA256.HashData(Encoding.UTF8.GetBytes(token)), _token))
        {
            return TokenVerdict.Right;
        }

        lock (_gate)
        {
            CountUnsynchronized(address);
        }

        return TokenVerdict.Wrong;
    }

    /// <summary>Opens a session of a browser; the oldest one ends where there are too many.</summary>
    /// <returns>The value of the cookie.</returns>
    public string Open()
    {
        var id = Convert.ToHexString(RandomNumberGenerator.GetBytes(32));
        lock (_gate)
        {
            while (_sessions.Count >= MostSessions)
            {
                _sessions.Dequeue();
            }

            _sessions.Enqueue(id);
        }

        return id;
    }

    /// <summary>Whether a Cookie field has an open session.</summary>
    public bool HasSession(string? cookies)
    {
        foreach (var part in (cookies ?? "").Split(';', StringSplitOptions.TrimEntries))
        {
            if (!part.StartsWith(Cookie + "=", StringComparison.Ordinal))
            {
                continue;
            }

            var given = Encoding.UTF8.GetBytes(part[(Cookie.Length + 1)..]);
            lock (_gate)
            {
                foreach (var session in _sessions)
                {
                    if (CryptographicOperations.FixedTimeEquals(given, Encoding.UTF8.GetBytes(session)))
                    {
                        return true;
                    }
                }
            }
        }

        return false;
    }

    private void CountUnsynchronized(string address)
    {
        if (_wrong.TryGetValue(address, out var wrong) && _time.GetElapsedTime(wrong.Since) < _window)
        {
            _wrong[address] = wrong with { Count = wrong.Count + 1 };
            return;
        }

        if (_wrong.Count >= MostAddresses && !_wrong.ContainsKey(address))
        {
            _wrong.Remove(_wrong.MinBy(static entry => entry.Value.Since).Key);
        }

        _wrong[address] = (_time.GetTimestamp(), 1);
    }

    /// <summary>An IPv6 network counts as one address, because one machine has all of its addresses.</summary>
    private static string KeyOf(IPAddress address)
    {
        var plain = address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
        return plain.AddressFamily == AddressFamily.InterNetworkV6
            ? Convert.ToHexString(plain.GetAddressBytes().AsSpan(0, 8))
            : plain.ToString();
    }
}
