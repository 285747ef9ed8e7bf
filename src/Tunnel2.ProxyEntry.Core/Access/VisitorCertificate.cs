using System.Globalization;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace Tunnel2.ProxyEntry.Access;

/// <summary>
/// What a visitor's TLS handshake said about its certificate; there is one for each connection whose handshake asked for one. The
/// handshake has proved that the visitor has the key; whether the certificate is good for a tunnel is judged for each tunnel. Thread-safe.
/// </summary>
/// <param name="tunnel">The public name of the session that the handshake was for: a browser chooses its certificate for one name.</param>
internal sealed class VisitorCertificate(string tunnel)
{
    /// <summary>The longest subject that a service gets, in bytes; a longer one is cut.</summary>
    private const int LongestUser = 512;

    private const int MostOthers = 10;

    /// <summary>For how many tunnels the answer is kept.</summary>
    private const int MostVerdicts = 8;

    /// <summary>How long an answer is kept: those that issued the certificate may end while the connection lives.</summary>
    public static readonly TimeSpan VerdictLife = TimeSpan.FromMinutes(1);

    private readonly Lock _gate = new();
    private X509Certificate2? _certificate;
    private X509Certificate2Collection _others = [];
    private readonly Queue<(AccessPolicy Policy, bool IsGood, DateTimeOffset At)> _verdicts = new();
    private byte[] _user = [];

    /// <summary>The public name of the session that the handshake was for.</summary>
    public string Tunnel => tunnel;

    /// <summary>Whether the visitor has shown one.</summary>
    public bool IsThere
    {
        get
        {
            lock (_gate)
            {
                return _certificate is not null;
            }
        }
    }

    /// <summary>Its subject, as a field can have it.</summary>
    public byte[] User
    {
        get
        {
            lock (_gate)
            {
                return _user;
            }
        }
    }

    /// <summary>Keeps what the visitor has shown.</summary>
    /// <param name="certificate">Its certificate; null: it has shown none.</param>
    /// <param name="chain">What it sent with it.</param>
    public void Keep(X509Certificate? certificate, X509Chain? chain)
    {
        if (certificate is null)
        {
            return;
        }

        // Copies: the handshake disposes of its own.
        var own = X509CertificateLoader.LoadCertificate(certificate.GetRawCertData());
        var others = new X509Certificate2Collection();
        foreach (var other in chain?.ChainPolicy.ExtraStore.Take(MostOthers) ?? [])
        {
            others.Add(X509CertificateLoader.LoadCertificate(other.RawDataMemory.Span));
        }

        lock (_gate)
        {
            (_certificate, _others) = (own, others);
            _verdicts.Clear();
            _user = UserOf(own.Subject);
        }
    }

    /// <summary>Whether the certificate is good for a tunnel. The answer is kept for its next requests, for a short while.</summary>
    /// <param name="policy">The tunnel's rules, which ask for certificates.</param>
    /// <param name="now">The time.</param>
    public bool Suits(AccessPolicy policy, DateTimeOffset now)
    {
        lock (_gate)
        {
            if (_certificate is not { } certificate)
            {
                return false;
            }

            // A connection may live longer than the certificate.
            if (now.UtcDateTime > certificate.NotAfter.ToUniversalTime())
            {
                return false;
            }

            while (_verdicts.TryPeek(out var oldest) && (now - oldest.At).Duration() >= VerdictLife)
            {
                _verdicts.Dequeue();
            }

            foreach (var (judged, wasGood, _) in _verdicts)
            {
                if (ReferenceEquals(judged, policy))
                {
                    return wasGood;
                }
            }

            var isGood = policy.Authorities!.All(authorities => authorities.HasIssued(certificate, _others, now));
            if (_verdicts.Count == MostVerdicts)
            {
                _verdicts.Dequeue();
            }

            _verdicts.Enqueue((policy, isGood, now));
            return isGood;
        }
    }

    /// <summary>
    /// A subject as visible ASCII; what is not, and the percent sign, is written as in URLs, so that two never look the same.
    /// </summary>
    internal static byte[] UserOf(string subject)
    {
        var text = new StringBuilder();
        foreach (var value in Encoding.UTF8.GetBytes(subject))
        {
            if (value is >= (byte)' ' and <= (byte)'~' and not (byte)'%')
            {
                text.Append((char)value);
            }
            else
            {
                text.Append('%').Append(value.ToString("X2", CultureInfo.InvariantCulture));
            }
        }

        return Encoding.ASCII.GetBytes(text.ToString(0, Math.Min(text.Length, LongestUser)).Trim());
    }
}
