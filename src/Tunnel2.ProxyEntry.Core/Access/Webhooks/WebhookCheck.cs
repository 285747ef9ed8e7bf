using System.Net;
using System.Security.Cryptography;
using System.Text;

namespace Tunnel2.ProxyEntry.Access.Webhooks;

/// <summary>The check of one request's signature, piece by piece of its body. Used by one thread at a time; one use per instance.</summary>
internal sealed class WebhookCheck : IDisposable
{
    /// <summary>A form of Twilio is a few kilobytes; a longer one is not sorted on an event loop.</summary>
    private const int LongestForm = 64 * 1024;

    private const string BodyDigest = "bodySHA256";

    private readonly IncrementalHash[] _hashes = [];
    private readonly IReadOnlyList<byte[]> _claims = [];
    private readonly byte[][] _secrets = [];
    private readonly string[] _urls = [];
    private readonly MemoryStream? _form;
    private readonly IncrementalHash? _digest;

    private WebhookCheck()
    {
    }

    private WebhookCheck(IncrementalHash[] hashes, IReadOnlyList<byte[]> claims, bool isOnce)
    {
        _hashes = hashes;
        _claims = claims;
        IsOnce = isOnce;
    }

    private WebhookCheck(byte[][] secrets, byte[] claim, string[] urls, bool isForm)
    {
        _secrets = secrets;
        _claims = [claim];
        _urls = urls;
        if (isForm)
        {
            _form = new MemoryStream();
        }
        else
        {
            _digest = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        }
    }

    /// <summary>A check that has passed without the body.</summary>
    public static WebhookCheck Passed => new();

    /// <summary>Whether the same signature may come only once, because it says when it was made.</summary>
    public bool IsOnce { get; }

    /// <summary>Whether the body has to be looked at.</summary>
    public bool NeedsBody => _hashes.Length > 0 || _secrets.Length > 0;

    /// <summary>
    /// The signature by each secret, whether or not the request has it: one who sends a request again may leave out those that were shown
    /// before.
    /// </summary>
    public IReadOnlyList<byte[]> Own { get; private set; } = [];

    /// <summary>A check of an HMAC over a beginning and the body.</summary>
    public static WebhookCheck OfHash(
        HashAlgorithmName algorithm, byte[][] secrets, IReadOnlyList<byte[]> claims, string beginning, bool isOnce = false)
    {
        IncrementalHash[] hashes = [.. secrets.Select(secret => IncrementalHash.CreateHMAC(algorithm, secret))];
        foreach (var hash in hashes)
        {
            hash.AppendData(Encoding.Latin1.GetBytes(beginning));
        }

        return new WebhookCheck(hashes, claims, isOnce);
    }

    /// <summary>Twilio's: an HMAC over the URL and the sorted fields of a form, or over a URL that has the body's digest.</summary>
    public static WebhookCheck OfForm(byte[][] secrets, byte[] claim, string[] urls, bool isForm) => new(secrets, claim, urls, isForm);

    /// <summary>The next bytes of the body.</summary>
    public void Append(ReadOnlySpan<byte> bytes)
    {
        foreach (var hash in _hashes)
        {
            hash.AppendData(bytes);
        }

        _digest?.AppendData(bytes);
        if (_form is not null && _form.Length <= LongestForm)
        {
            _form.Write(bytes);
        }
    }

    /// <summary>Whether the signature is right for the whole body. Compares all secrets with all signatures, in constant time.</summary>
    public bool IsRight()
    {
        if (!NeedsBody)
        {
            return true;
        }

        if (_secrets.Length > 0)
        {
            return IsRightForm();
        }

        Own = [.. _hashes.Select(static hash => hash.GetHashAndReset())];
        var isRight = false;
        foreach (var own in Own)
        {
            foreach (var claim in _claims)
            {
                isRight |= CryptographicOperations.FixedTimeEquals(own, claim);
            }
        }

        return isRight;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        foreach (var hash in _hashes)
        {
            hash.Dispose();
        }

        _digest?.Dispose();
        _form?.Dispose();
    }

    private bool IsRightForm()
    {
        string fields;
        if (_form is not null)
        {
            if (_form.Length > LongestForm)
            {
                return false;
            }

            fields = SortedFields(Encoding.UTF8.GetString(_form.GetBuffer(), 0, (int)_form.Length));
        }
        else
        {
            fields = "";
            var digest = Convert.ToHexStringLower(_digest!.GetHashAndReset());
            var hasBody = digest != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
            if (hasBody && !_urls.All(url => HasDigest(url, digest)))
            {
                return false;
            }
        }

        var isRight = false;
        Span<byte> own = stackalloc byte[SHA1.HashSizeInBytes];
        foreach (var secret in _secrets)
        {
            foreach (var url in _urls)
            {
                // Twilio signs with HMAC-SHA1, for which the weakness of SHA-1 does not matter.
#pragma warning disable CA5350
                HMACSHA1.HashData(secret, Encoding.UTF8.GetBytes(url + fields), own);
#pragma warning restore CA5350
                isRight |= CryptographicOperations.FixedTimeEquals(own, _claims[0]);
            }
        }

        return isRight;
    }

    private static bool HasDigest(string url, string digest)
    {
        var query = url.IndexOf('?', StringComparison.Ordinal);
        return query >= 0 && url[(query + 1)..].Split('&').Contains($"{BodyDigest}={digest}", StringComparer.OrdinalIgnoreCase);
    }

    /// <summary>Names and values of a form, sorted by name, without anything between them. The same pair counts once.</summary>
    private static string SortedFields(string form)
    {
        var text = new StringBuilder();
        foreach (var (name, value) in form.Split('&', StringSplitOptions.RemoveEmptyEntries)
            .Select(static pair => pair.Split('=', 2))
            .Select(static pair => (Name: WebUtility.UrlDecode(pair[0]), Value: pair.Length > 1 ? WebUtility.UrlDecode(pair[1]) : ""))
            .Distinct()
            .OrderBy(static pair => pair.Name, StringComparer.Ordinal)
            .ThenBy(static pair => pair.Value, StringComparer.Ordinal))
        {
            text.Append(name).Append(value);
        }

        return text.ToString();
    }
}
